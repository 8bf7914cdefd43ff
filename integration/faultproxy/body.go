package faultproxy

import (
	"context"
	"io"

	"golang.org/x/time/rate"
)

// chunk is the most that is read of a body under a rate limit in one go.
const chunk = 16 << 10

// body is a request's body on its way through the proxy: counted, slowed.
// It is read by one goroutine at a time.
type body struct {
	io.ReadCloser
	ctx   context.Context // ends a wait for the limiter
	rec   *record
	limit func() *rate.Limiter
}

func (b *body) Read(buf []byte) (int, error) {
	limit := b.limit()
	if limit != nil {
		buf = buf[:min(len(buf), chunk)]
	}
	n, err := b.ReadCloser.Read(buf)
	if limit != nil {
		if werr := limit.WaitN(b.ctx, n); werr != nil {
			return 0, werr
		}
	}
	b.rec.bytes.Add(int64(n))
	return n, err
}

// pass reads and drops n bytes, or what there is if that is less, and tells
// whether the client sent them.
func (b *body) pass(n int64) bool {
	_, err := io.CopyN(io.Discard, b, n)
	return err == nil || err == io.EOF
}
