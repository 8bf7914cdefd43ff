package presign_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/presign"
)

// local is a provider that may be asked by all at once, if it says so.
type local struct {
	slow
	says bool
}

func (l *local) IsLocal() bool { return l.says }

// Nothing is shared of what costs nothing; what says that it is not local is shared
// like all others.
func TestShareAsksLocalProviders(t *testing.T) {
	for says, want := range map[bool]int32{true: 50, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			p := &local{says: says}
			s := presign.Share(p)
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					r, err := s.Presign(t.Context(), part)
					if err != nil || r.URL != "http://store/k" || r.Method != http.MethodPut {
						t.Errorf("%+v, %v", r, err)
					}
				})
			}
			wg.Wait()
			if got := p.calls.Load(); got != want {
				t.Errorf("local %v: %d calls, want %d", says, got, want)
			}
		})
	}
}

// stuck is a local provider whose credentials do not come.
type stuck struct{}

func (stuck) IsLocal() bool { return true }

func (stuck) Presign(ctx context.Context, _ presign.Part) (presign.Request, error) {
	<-ctx.Done()
	return presign.Request{}, context.Cause(ctx)
}

// A local provider is waited for no longer than others, and its callers may leave.
func TestShareBoundsLocalProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := presign.Share(stuck{}), time.Now()
		if _, err := s.Presign(t.Context(), part); err == nil || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		cause := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := s.Presign(ctx, part); !errors.Is(err, cause) {
			t.Errorf("err = %v", err)
		}
		p := &local{says: true}
		if _, err := presign.Share(p).Presign(ctx, part); !errors.Is(err, cause) || p.calls.Load() != 0 {
			t.Errorf("a dead context: %d calls, %v", p.calls.Load(), err)
		}
	})
}
