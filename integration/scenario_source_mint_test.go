package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// waitsForEnd is a provider that honours its context and nothing else.
type waitsForEnd struct{ asked chan struct{} }

func (w waitsForEnd) Presign(ctx context.Context, _ presign.Part) (presign.Request, error) {
	select {
	case w.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return presign.Request{}, context.Cause(ctx)
}

// R49, https://github.com/minio/minio-go/pull/2170: a call of the provider that
// nobody waits for any more ends with its last caller, and not half a minute later.
func TestR49MintEndsWithItsLastCaller(t *testing.T) {
	check.Leaks(t)
	d := newDesk(t, generic(t), rawstore.Start(t, rawstore.Options{}).URL(), wire.Limits{})
	asked := make(chan struct{}, 1)
	d.provider = waitsForEnd{asked}
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	start := time.Now()
	_, err := d.uploader(t).Upload(ctx, aimed, source{check.Pattern(mib)})
	if !errors.Is(err, context.Canceled) || time.Since(start) > time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	d.wire.CloseIdle()
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("github.com/chunkup/chunkup/integration/rawstore.(*Store).serve")); err != nil {
		t.Error(err)
	}
}
