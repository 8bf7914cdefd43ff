package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// spoiler is a store as MinIO is: a Complete that loses its connection stops half
// way. The upload is there after that, its parts are not, and it takes them again;
// and what checksum it was to have is forgotten, so that none is the right one.
type spoiler struct {
	*storetest.Mem
	cuts  int  // so many completions lose their connection
	keeps bool // the parts stay

	after func(multipart.Upload, multipart.Completion) // a cut
	hang  bool                                         // a cut is the caller's, who waits until then

	mu     sync.Mutex
	spoilt []string
	passes int // so many refusals of a spoilt upload, then it is none; 0: all
}

func (s *spoiler) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if s.cut(u) {
		if s.after != nil {
			s.after(u, c)
		}
		if s.hang {
			<-ctx.Done()
			return multipart.Info{}, context.Cause(ctx)
		}
		return multipart.Info{}, syscall.ECONNRESET
	}
	listed, err := s.Mem.List(ctx, u)
	if err == nil && len(listed) > 0 && s.refuses(u.ID) {
		return multipart.Info{}, wire.NewStoreError(400, nil, "XAmzContentChecksumMismatch", "The provided 'x-amz-checksum' header does not match what was computed.")
	}
	return s.Mem.Complete(ctx, u, c)
}

func (s *spoiler) cut(u multipart.Upload) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cuts == 0 || slices.Contains(s.spoilt, u.ID) {
		return false
	}
	s.cuts--
	s.spoilt = append(s.spoilt, u.ID)
	for n := range 12 {
		if !s.keeps {
			s.Lose(u.ID, n+1)
		}
	}
	return true
}

func (s *spoiler) refuses(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passes--; s.passes == 0 {
		s.spoilt = nil
	}
	return slices.Contains(s.spoilt, id)
}

// An upload that a store has spoilt when its connection broke in Complete is begun
// again; one of which it only seems so is not.
func TestCompleteSpoilt(t *testing.T) {
	for name, tc := range map[string]struct {
		store     *spoiler
		faults    []storetest.Fault
		creates   int
		parts     int
		completes int // that were not refused for the checksum
	}{
		"parts are gone":                  {store: &spoiler{cuts: 1}, creates: 2, parts: 24, completes: 2},
		"checksum is forgotten":           {store: &spoiler{cuts: 1, keeps: true}, creates: 2, parts: 24, completes: 1},
		"nobody may look at the object":   {store: &spoiler{cuts: 1}, faults: []storetest.Fault{{Op: wire.Head, Times: -1, Status: 403}}, creates: 2, parts: 24, completes: 2},
		"refused in passing":              {store: &spoiler{cuts: 1, keeps: true, passes: 2}, creates: 1, parts: 12, completes: 1},
		"another one was being assembled": {store: &spoiler{cuts: 1, keeps: true}, creates: 1, parts: 12, completes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				tc.store.Mem = k.Mem
				if name == "another one was being assembled" {
					tc.store.after = func(u multipart.Upload, c multipart.Completion) {
						time.AfterFunc(3*time.Second, func() { k.Mem.Complete(context.Background(), u, c) })
					}
				}
				k.Script(tc.faults...)
				r, err := k.uploader(t, tc.store, k.Mem).UploadFile(t.Context(), object, k.path)
				k.finished(t, err)
				k.wantRequests(t, wire.Create, tc.creates)
				k.wantRequests(t, wire.PutPart, tc.parts)
				k.wantRequests(t, wire.Complete, tc.completes)
				if o, _ := k.Object(object.Key); r.ETag != o.ETag || k.Uploads() != 0 {
					t.Errorf("%+v, the object has %s; %d uploads are left", r, o.ETag, k.Uploads())
				}
			})
		})
	}
}

// The same if it was the process that died in Complete: the next run ends well, and
// sends the parts but once.
func TestResumeSpoilt(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newKept(t)
			store := &spoiler{Mem: k.Mem, cuts: 1, keeps: keeps, hang: true}
			ctx, die := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, die)
			_, err := k.uploader(t, store, k.Mem).UploadFile(ctx, object, k.path)
			if !errors.Is(err, multipart.ErrUnknownOutcome) {
				t.Fatalf("err = %v", err)
			}
			_, err = k.uploader(t, store, k.Mem).UploadFile(t.Context(), object, k.path)
			k.finished(t, err)
			k.wantRequests(t, wire.Create, 2)
			k.wantRequests(t, wire.PutPart, 24)
			if k.Uploads() != 0 {
				t.Errorf("%d uploads are left", k.Uploads())
			}
		})
	}
}

// A store that spoils one upload after another ends the call, which is no success,
// and a stream cannot be sent again.
func TestCompleteSpoiltForGood(t *testing.T) {
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newKept(t)
			u := k.uploader(t, &spoiler{Mem: k.Mem, cuts: 9, keeps: true}, k.Mem)
			creates := 2
			var err error
			if stream {
				creates = 1
				_, err = u.UploadStream(t.Context(), object, bytes.NewReader(k.body), 0)
			} else {
				_, err = u.UploadFile(t.Context(), object, k.path)
			}
			e, ok := errors.AsType[*wire.StoreError](err)
			if !ok || e.Code != "XAmzContentChecksumMismatch" {
				t.Errorf("err = %v", err)
			}
			k.wantRequests(t, wire.Create, creates)
			if _, there := k.Object(object.Key); there {
				t.Error("there is an object")
			}
		})
	}
}

// Other bytes in the first completion of all are nobody's accident: it is not sent
// again, nor is anything else.
func TestCompleteOfOtherBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.Script(storetest.Fault{Op: wire.Complete, Times: -1, Status: 400, Code: "XAmzContentChecksumMismatch"})
		_, err := k.run(t, object)
		if statusIn(err) != 400 {
			t.Errorf("err = %v", err)
		}
		k.wantRequests(t, wire.Complete, 1)
		k.wantRequests(t, wire.Create, 1)
	})
}

// halfway is a store whose first completion loses its connection, and a part with it;
// when the part is there again, no completion has the right checksum.
type halfway struct {
	*storetest.Mem
	sent   int
	spoilt string
}

func (s *halfway) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	switch s.sent++; {
	case s.sent == 1:
		s.spoilt = u.ID
		s.Lose(u.ID, 3)
		return multipart.Info{}, syscall.ECONNRESET
	case s.sent > 2 && s.sent < 20 && u.ID == s.spoilt: // not for ever, so that the test ends
		return multipart.Info{}, wire.NewStoreError(400, nil, "XAmzContentChecksumMismatch", "The provided 'x-amz-checksum' header does not match what was computed.")
	}
	return s.Mem.Complete(ctx, u, c)
}

// That a completion may have been cut short is not forgotten when a part was sent
// again meanwhile. What is refused after it is looked after for 16 s in all, and asked
// for once more.
func TestCompleteSpoiltAndRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		store := &halfway{Mem: k.Mem}
		start := time.Now()
		_, err := k.uploader(t, store, k.Mem).UploadFile(t.Context(), object, k.path)
		k.finished(t, err)
		k.wantRequests(t, wire.Create, 2)
		k.wantRequests(t, wire.PutPart, 12+1+12)
		if store.sent != 5 { // cut, a part missing, refused, once more, the new upload's
			t.Errorf("%d completions", store.sent)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// tardy is a store whose first completion loses its connection, and is applied when
// the second is there; that is refused for a part.
type tardy struct {
	*storetest.Mem
	applied func()
	sent    int
}

func (s *tardy) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if s.sent++; s.sent == 1 {
		return multipart.Info{}, syscall.ECONNRESET
	}
	if s.sent == 2 {
		s.Mem.Complete(ctx, u, c)
		s.applied()
	}
	return multipart.Info{}, wire.NewStoreError(400, nil, "InvalidPart", "One or more of the specified parts could not be found.")
}

// What is not seen to be spoilt is not begun again: the object that another has put
// in the place of ours stays, and where the store does not say what there is, nobody
// knows.
func TestCompleteNotSeenSpoilt(t *testing.T) {
	theirs := storetest.Object{ETag: "theirs", Body: []byte("theirs")}
	deny := func(op wire.Operation, skip int) storetest.Fault {
		return storetest.Fault{Op: op, Skip: skip, Times: -1, Status: 403, Code: "AccessDenied"}
	}
	for name, tc := range map[string]struct {
		faults  []storetest.Fault
		replace bool
		unknown bool
	}{
		"another object, the upload gone": {replace: true},
		"nothing is to be seen":           {faults: []storetest.Fault{deny(wire.Head, 0), deny(wire.List, 0)}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t)
				k.Script(tc.faults...)
				store := &tardy{Mem: k.Mem, applied: func() {
					if tc.replace {
						k.Replace(object.Key, theirs)
					}
				}}
				_, err := k.uploader(t, store, k.Mem).UploadFile(t.Context(), object, k.path)
				if err == nil || errors.Is(err, multipart.ErrUnknownOutcome) != tc.unknown {
					t.Errorf("err = %v", err)
				}
				k.wantRequests(t, wire.Create, 1)
				if o, _ := k.Object(object.Key); tc.replace && o.ETag != theirs.ETag {
					t.Errorf("the object is %+v", o)
				}
			})
		})
	}
}
