package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// An idempotency key proves itself where no checksum can.
func TestIdempotencyKeyUnproven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body, o := newLab(t, nil), randomBytes(3*64*kib), object
		o.IdempotencyKey = "order 17"
		tr := l.Traits()
		tr.OpaqueETag = true
		l.SetTraits(tr)
		l.EditInfo = func(_ wire.Operation, i *multipart.Info) { i.Digest = chunker.Digest{} }
		if _, err := l.uploadAs(t, o, body); err != nil {
			t.Fatal(err)
		}
		if r, err := l.uploadAs(t, o, body); err != nil {
			t.Errorf("the second call with one key: %+v %v", r.Existing, err)
		}
	})
}

// A late Complete of an earlier run is not taken for that of the upload begun since.
func TestRestartKeepsTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		tr := k.Traits()
		tr.OpaqueETag = true
		k.SetTraits(tr)
		k.EditInfo = func(_ wire.Operation, i *multipart.Info) { i.Digest = chunker.Digest{} }
		late := &lateComplete{Mem: k.Mem}
		ctx, die := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, die)
		k.uploader(t, late, k.Mem).UploadFile(ctx, object, k.path) // its Complete hangs
		old := bytes.Clone(k.body)
		flip(k.body)
		k.write(t)
		k.Script(storetest.Fault{Op: wire.Complete, Skip: 1, Status: 500, Code: "InternalError"})
		_, err := k.uploader(t, late, k.Mem).UploadFile(t.Context(), object, k.path)
		o, _ := k.Object("key")
		if err == nil && !bytes.Equal(o.Body, k.body) {
			t.Errorf("success, and the store has the old bytes: %v", bytes.Equal(o.Body, old))
		}
	})
}

// lateComplete is applied when the parts are listed next.
type lateComplete struct {
	*storetest.Mem
	apply func()
	seen  bool
}

func (l *lateComplete) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if !l.seen {
		l.seen = true
		l.apply = func() { l.Mem.Complete(context.Background(), u, c) }
		<-ctx.Done()
		return multipart.Info{}, context.Cause(ctx)
	}
	return l.Mem.Complete(ctx, u, c)
}

func (l *lateComplete) List(ctx context.Context, u multipart.Upload) ([]multipart.Receipt, error) {
	parts, err := l.Mem.List(ctx, u)
	if l.apply != nil {
		l.apply()
		l.apply = nil
	}
	return parts, err
}

// Streams that give nothing do not keep others from being sent.
func TestIdleStreamsHoldAllMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.Memory = 4 * 64 * kib
		u := l.uploader(t, l.Mem, l.Mem)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{}, 4)
		for range 4 {
			pr, pw := io.Pipe()
			defer pw.Close()
			go func() {
				u.UploadStream(ctx, multipart.Object{Bucket: "bucket", Key: "idle"}, pr, 0)
				done <- struct{}{}
			}()
		}
		time.Sleep(time.Second)
		quick, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		if _, err := u.UploadStream(quick, object, strings.NewReader("100 bytes"), 0); err != nil {
			t.Errorf("9 bytes were not sent for an hour: %v", err)
		}
		cancel()
		for range 4 {
			<-done
		}
	})
}

// A Complete that was refused for its age is no unknown outcome.
func TestCancelAfterARefusedComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.Complete, Times: -1, Status: 400, Code: "ExpiredToken"})
		ctx, cancel := context.WithCancel(t.Context())
		u, err := multipart.New(k.Mem, &slowRenew{&provider{Mem: k.Mem}, cancel}, &k.options)
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.UploadFile(ctx, object, k.path)
		time.Sleep(time.Minute) // the renewal ends
		if errors.Is(err, multipart.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
}

type slowRenew struct {
	*provider
	cancel func()
}

func (s *slowRenew) Renew(ctx context.Context) error {
	s.cancel()
	time.Sleep(time.Second)
	return nil
}

// lagging shows an object only some time after the upload has become it.
type lagging struct {
	*storetest.Mem
	lag  time.Duration
	from time.Time
}

func (l *lagging) Head(ctx context.Context, bucket, key string) (multipart.Info, error) {
	info, err := l.Mem.Head(ctx, bucket, key)
	if err == nil && l.from.IsZero() {
		l.from = time.Now().Add(l.lag)
	}
	if err == nil && time.Now().Before(l.from) {
		return multipart.Info{}, wire.NewStoreError(404, nil, "NotFound", "")
	}
	return info, err
}

// A store that is still at work on a Complete whose answer was lost has the upload no
// more and the object not yet: that is waited for, and nothing is sent again.
func TestCompleteUnderWay(t *testing.T) {
	for lag, made := range map[time.Duration]bool{3 * time.Second: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			k := newKept(t)
			k.Script(storetest.Fault{Op: wire.Complete, Apply: true, Reset: true})
			store := &lagging{Mem: k.Mem, lag: lag}
			_, err := k.uploader(t, store, k.Mem).UploadFile(t.Context(), object, k.path)
			if made != (err == nil) {
				t.Errorf("after %v: %v", lag, err)
			}
			k.wantRequests(t, wire.PutPart, 12)
		})
		synctest.Test(t, func(t *testing.T) {
			k := newKept(t)
			ctx, die := context.WithCancel(t.Context())
			k.Script(storetest.Fault{Op: wire.Complete, Apply: true, Stall: true}, storetest.Fault{Op: wire.Head, Stall: true})
			time.AfterFunc(time.Minute, die)
			_, _ = k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
			sent := k.Count(wire.PutPart)
			store := &lagging{Mem: k.Mem, lag: lag}
			r, err := k.uploader(t, store, k.Mem).UploadFile(t.Context(), object, k.path)
			if err != nil || r.Existing != made || made != (k.Count(wire.PutPart) == sent) {
				t.Errorf("after %v: %d parts sent again, %+v, %v", lag, k.Count(wire.PutPart)-sent, r, err)
			}
		})
	}
}

// hiding lists no parts for a while.
type hiding struct {
	*storetest.Mem
	times int
}

func (h *hiding) List(ctx context.Context, u multipart.Upload) ([]multipart.Receipt, error) {
	if h.times--; h.times >= 0 {
		return nil, nil
	}
	return h.Mem.List(ctx, u)
}

// Parts that the journal knows, of an upload whose Complete was sent, are looked for
// again before they are sent again.
func TestPartsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		ctx, die := context.WithCancel(t.Context())
		k.Script(storetest.Fault{Op: wire.Complete, Stall: true}, storetest.Fault{Op: wire.Head, Stall: true})
		time.AfterFunc(time.Minute, die)
		_, _ = k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, object, k.path)
		r, err := k.uploader(t, &hiding{k.Mem, 3}, k.Mem).UploadFile(t.Context(), object, k.path)
		k.finished(t, err)
		if r.Resumed != 12 {
			t.Errorf("%+v", r)
		}
	})
}
