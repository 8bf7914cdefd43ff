package multipart

import (
	"context"
	"io"
	"time"

	"golang.org/x/time/rate"
)

// paceBurst is what may be sent at once under a bound on the bandwidth, in
// bytes: as much as is read at a time.
const paceBurst = 32 << 10

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
	n, err := p.from.Read(b[:min(len(b), paceBurst)])
	if n == 0 {
		return n, err
	}
	// Not Wait, which refuses at once what would end after the context.
	wait := time.NewTimer(p.pace.ReserveN(time.Now(), n).Delay())
	defer wait.Stop()
	select {
	case <-wait.C:
		return n, err
	case <-p.ctx.Done():
		return 0, context.Cause(p.ctx)
	}
}
