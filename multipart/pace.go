package multipart

import (
	"context"
	"io"
	"time"

	"golang.org/x/time/rate"
)

// paceBurst is the most that is sent at once under a bound on the bandwidth, in
// bytes; a low bound sends less, twenty times a second, so that no connection
// looks idle.
const paceBurst = 32 << 10

// newPace bounds the bandwidth to so many bytes a second.
func newPace(bandwidth int64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(bandwidth), int(min(max(bandwidth/20, 1<<10), paceBurst)))
}

// paced is the reader under the endpoint's bound on the bandwidth, if it has one.
// The wait is inside Read, where no deadline of an attempt counts it.
func (e *Endpoint) paced(ctx context.Context, r io.Reader) io.Reader {
	if e.pace == nil {
		return r
	}
	return &pacedReader{ctx: ctx, from: r, pace: e.pace}
}

type pacedReader struct {
	ctx  context.Context
	from io.Reader
	pace *rate.Limiter
}

func (p *pacedReader) Read(b []byte) (int, error) {
	n, err := p.from.Read(b[:min(len(b), p.pace.Burst())])
	if n == 0 {
		return n, err
	}
	// Not Wait, which refuses at once what would end after the context.
	turn := p.pace.ReserveN(time.Now(), n)
	wait := time.NewTimer(turn.Delay())
	defer wait.Stop()
	select {
	case <-wait.C:
		return n, err
	case <-p.ctx.Done():
		turn.Cancel()
		return 0, context.Cause(p.ctx)
	}
}
