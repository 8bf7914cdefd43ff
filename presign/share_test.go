package presign_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/presign"
)

// slow is a provider that takes a second for each call.
type slow struct {
	calls, renewals atomic.Int32
	err             error
}

func (s *slow) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	s.calls.Add(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return presign.Request{}, context.Cause(ctx)
	}
	return presign.Request{Method: http.MethodPut, URL: "http://store/" + p.Key, Header: http.Header{"A": {"b"}}}, s.err
}

func (s *slow) Renew(context.Context) error {
	s.renewals.Add(1)
	time.Sleep(time.Second)
	return s.err
}

var part = presign.Part{Bucket: "b", Key: "k", UploadID: "u", Number: 1, Size: 5}

func TestShareOneMint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slow{}
		s := presign.Share(p)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				r, err := s.Presign(t.Context(), part)
				if err != nil || r.URL != "http://store/k" {
					t.Errorf("%+v, %v", r, err)
				}
				r.Header.Set("A", "mine") // everybody has headers of his own
				if err := s.Renew(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if p.calls.Load() != 1 || p.renewals.Load() != 1 {
			t.Errorf("%d calls and %d renewals for 50 callers", p.calls.Load(), p.renewals.Load())
		}
		if _, err := s.Presign(t.Context(), part); err != nil || p.calls.Load() != 2 {
			t.Errorf("a later caller got an old request: %d calls, %v", p.calls.Load(), err)
		}
	})
}

func TestShareTellsPartsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slow{}
		s := presign.Share(p)
		others := []presign.Part{part, part, part, part, part, part, part}
		others[1].Number = 2
		others[2].UploadID = "v"
		others[3].Key, others[3].Bucket = "bk", ""
		others[4].Checksum = "x"
		others[5].Size = 6
		var wg sync.WaitGroup
		for _, o := range others {
			wg.Go(func() { s.Presign(t.Context(), o) })
		}
		wg.Wait()
		if got := p.calls.Load(); got != 6 {
			t.Errorf("%d calls for 6 different parts", got)
		}
	})
}

// The one who asked first gives up; the others still get their request.
func TestShareIsDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &slow{}
		s := presign.Share(p)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("gave up")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Presign(ctx, part); !errors.Is(err, cause) {
				t.Errorf("err = %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := s.Presign(t.Context(), part); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel(cause)
		wg.Wait()
		if _, err := s.Presign(ctx, part); !errors.Is(err, cause) || p.calls.Load() != 1 {
			t.Errorf("a dead context: %d calls, %v", p.calls.Load(), err)
		}
	})
}

func TestShareIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := presign.Share(providerFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		start := time.Now()
		if _, err := s.Presign(t.Context(), part); err == nil || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := s.Renew(t.Context()); err != nil { // it is no Renewer
			t.Error(err)
		}
	})
}

type providerFunc func(context.Context) error

func (f providerFunc) Presign(ctx context.Context, _ presign.Part) (presign.Request, error) {
	return presign.Request{}, f(ctx)
}
