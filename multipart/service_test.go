package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// service is a control plane and provider that stands before the store: it chooses
// keys, creates the same upload for the same token, and fails by itself.
type service struct {
	*storetest.Mem
	unseen bool

	mu       sync.Mutex
	byToken  map[string]multipart.Upload
	creates  int
	crash    func()
	fail     map[wire.Operation][]error // before the store is asked
	lose     map[wire.Operation][]error // after it
	foreseen []presign.Part
	learned  []time.Time
}

func newService(m *storetest.Mem) *service {
	return &service{Mem: m, byToken: map[string]multipart.Upload{}, fail: map[wire.Operation][]error{}, lose: map[wire.Operation][]error{}}
}

func bad(status int) error {
	return &multipart.ServiceError{Service: "https://mint.example", Err: &wire.StoreError{Status: status}}
}

var errDial = &multipart.ServiceError{Service: "https://mint.example", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}

// errCrash ends the run that meets it.
var errCrash = errors.New("crash")

func (s *service) next(m map[wire.Operation][]error, op wire.Operation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m[op]) == 0 {
		return nil
	}
	err := m[op][0]
	m[op] = m[op][1:]
	if err == errCrash {
		s.crash()
	}
	return err
}

func (s *service) Traits() multipart.Traits {
	t := s.Mem.Traits()
	t.PartsOnly, t.SameCreate, t.Unseen = true, true, s.unseen
	return t
}

func (s *service) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	if err := s.next(s.fail, wire.Create); err != nil {
		return multipart.Upload{}, err
	}
	up, err := s.create(ctx, i)
	if lost := s.next(s.lose, wire.Create); lost != nil {
		return multipart.Upload{}, lost
	}
	return up, err
}

func (s *service) create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := i.Header.Get("X-Amz-Meta-Chunkup-Token")
	up, ok := s.byToken[token]
	if !ok {
		s.creates++
		i.Key = fmt.Sprintf("chosen-%d", s.creates)
		var err error
		if up, err = s.Mem.Create(ctx, i); err != nil {
			return up, err
		}
		s.byToken[token] = up
	}
	return up, nil
}

func (s *service) List(ctx context.Context, u multipart.Upload) ([]multipart.Receipt, error) {
	if err := s.next(s.fail, wire.List); err != nil {
		return nil, err
	}
	return s.Mem.List(ctx, u)
}

func (s *service) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if err := s.next(s.fail, wire.Complete); err != nil {
		return multipart.Info{}, err
	}
	info, err := s.Mem.Complete(ctx, u, c)
	if lost := s.next(s.lose, wire.Complete); lost != nil {
		return multipart.Info{}, lost
	}
	if s.unseen {
		info = multipart.Info{}
	}
	return info, err
}

func (s *service) Head(ctx context.Context, bucket, key string) (multipart.Info, error) {
	if s.unseen {
		return multipart.Info{}, multipart.ErrUnsupported
	}
	return s.Mem.Head(ctx, bucket, key)
}

func (s *service) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	if err := s.next(s.fail, wire.PutPart); err != nil {
		return presign.Request{}, err
	}
	return s.Mem.Presign(ctx, p)
}

func (s *service) Anticipate(p presign.Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreseen = append(s.foreseen, p)
}

func (s *service) Learn(store time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learned = append(s.learned, store)
}

func (l *lab) via(t *testing.T, s *service, body []byte) (multipart.Result, error) {
	t.Helper()
	u, err := multipart.New(s, s, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	return u.Upload(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
}

// keptAs fails unless the object is there, equal, under the key, and nothing is left.
func (l *lab) keptAs(t *testing.T, res multipart.Result, key string, body []byte) {
	t.Helper()
	o, ok := l.Object(key)
	if !ok || !bytes.Equal(o.Body, body) || l.Uploads() != 0 {
		t.Errorf("%s: %v, %d bytes of %d, %d uploads left", key, ok, len(o.Body), len(body), l.Uploads())
	}
	if res.Object.Key != key {
		t.Errorf("the result names %s, the object is %s", res.Object.Key, key)
	}
}

func TestServiceChoosesTheKey(t *testing.T) {
	for _, size := range []int{0, 1, 5*64*kib + 7} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(size)
			l.options.Threshold = 0 // a small object would go up in one PUT
			res, err := l.via(t, newService(l.Mem), body)
			if err != nil {
				t.Fatal(err)
			}
			l.keptAs(t, res, "chosen-1", body)
			if warned := l.kinds(multipart.Warned); len(warned) != 1 || !strings.Contains(warned[0].Err.Error(), "s3://bucket/chosen-1") {
				t.Errorf("%+v", warned)
			}
		})
	}
}

func TestServiceStream(t *testing.T) {
	for _, size := range []int{0, 1, 5*64*kib + 7} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(size)
			l.options.Threshold = 0
			s := newService(l.Mem)
			u, err := multipart.New(s, s, &l.options)
			if err != nil {
				t.Fatal(err)
			}
			res, err := u.UploadStream(t.Context(), object, io.MultiReader(bytes.NewReader(body)), 0)
			if err != nil {
				t.Fatal(err)
			}
			l.keptAs(t, res, "chosen-1", body)
		})
	}
}

// The failures of a service are nobody else's: the upload goes on, the budget is full
// and the breaker closed, and a create whose answer was lost is no second upload.
func TestServiceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(5*64*kib)
		s := newService(l.Mem)
		eight := []error{bad(502), errDial, bad(503), bad(502), bad(502), bad(502), bad(502), bad(502)}
		s.fail[wire.Create] = []error{bad(502), errDial, bad(502)}
		s.lose[wire.Create] = []error{bad(502)}
		s.fail[wire.PutPart] = eight
		s.fail[wire.Complete] = []error{bad(502), errDial}
		s.lose[wire.Complete] = []error{bad(502)}
		res, err := l.via(t, s, body)
		if err != nil {
			t.Fatal(err)
		}
		l.keptAs(t, res, "chosen-1", body)
		l.wantFullBudget(t)
		if l.endpoint.Breaker() != breaker.Closed || l.endpoint.Lanes() < multipart.DefaultLanes {
			t.Errorf("breaker %v, %d lanes", l.endpoint.Breaker(), l.endpoint.Lanes())
		}
		for _, e := range l.kinds(multipart.Warned) {
			if strings.Contains(e.Err.Error(), "no clear answer") {
				t.Error(e.Err)
			}
		}
	})
}

// A service that is down for good is found out: before the upload has begun at once,
// in it with all patience, and what the error says is what failed.
func TestServiceIsDown(t *testing.T) {
	for op, most := range map[wire.Operation]time.Duration{wire.Create: 10 * time.Second, wire.PutPart: 4 * time.Minute, wire.Complete: 4 * time.Minute} {
		for name, failure := range map[string]error{"502": bad(502), "no way": errDial} {
			t.Run(op.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, nil)
					l.options.Rand = func() float64 { return 0.5 }
					s := newService(l.Mem)
					for range 1000 {
						s.fail[op] = append(s.fail[op], failure)
					}
					start := time.Now()
					_, err := l.via(t, s, randomBytes(64*kib))
					if d := time.Since(start); !errors.Is(err, failure) || d > most {
						t.Errorf("after %v: %v", d, err)
					}
				})
			})
		}
	}
}

// The network is gone for two minutes, and with it the service: the upload goes on.
func TestServiceOnATrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(3*64*kib)
		l.options.Rand = func() float64 { return 0.5 }
		s := newService(l.Mem)
		for range 3 * 24 { // of each part
			s.fail[wire.PutPart] = append(s.fail[wire.PutPart], errDial)
		}
		start := time.Now()
		res, err := l.via(t, s, body)
		if d := time.Since(start); err != nil || d < time.Minute {
			t.Fatalf("after %v: %v", d, err)
		}
		l.keptAs(t, res, "chosen-1", body)
	})
}

// A run that ended while it asked for an upload asks again with the same token, and one
// that ended later goes on with its upload, under the key that the service chose.
func TestServiceResumes(t *testing.T) {
	for name, ends := range map[string]struct {
		op    wire.Operation
		after bool
	}{"create not sent": {wire.Create, false}, "create applied": {wire.Create, true}, "in the parts": {wire.PutPart, false},
		"complete not sent": {wire.Complete, false}, "complete applied": {wire.Complete, true}} {
		t.Run(name, func(t *testing.T) {
			dir, body := t.TempDir(), randomBytes(5*64*kib)
			path := filepath.Join(dir, "source")
			if err := os.WriteFile(path, body, 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				l.options.Journal = journal.Open(filepath.Join(dir, "state"))
				s := newService(l.Mem)
				ctx, crash := context.WithCancel(t.Context())
				s.crash = crash
				if ends.after {
					s.lose[ends.op] = []error{errCrash}
				} else {
					s.fail[ends.op] = []error{errCrash}
				}
				first, err := multipart.New(s, s, &l.options)
				if err != nil {
					t.Fatal(err)
				}
				// What was completed is found to be there, though nobody said so.
				if _, err := first.UploadFile(ctx, object, path); (err == nil) != (ends.op == wire.Complete && ends.after) {
					t.Fatal(err)
				}
				res, err := first.UploadFile(t.Context(), object, path)
				if err != nil {
					t.Fatal(err)
				}
				if ends.op == wire.Complete && ends.after {
					l.keptAs(t, res, "chosen-2", body) // the same command again
				} else {
					l.keptAs(t, res, "chosen-1", body)
				}
				if left, _ := l.options.Journal.List(); len(left) != 0 {
					t.Errorf("journals: %+v", left)
				}
			})
		})
	}
}

// Where nobody can look at the object, the service's word is taken; and when that was
// lost, the outcome is unknown unless the upload is still there.
func TestServiceUnseen(t *testing.T) {
	for name, tc := range map[string]struct {
		fail, lose []error
		unknown    bool
	}{
		"all well":    {},
		"not applied": {fail: []error{bad(502)}},
		"applied":     {lose: []error{bad(502)}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(5*64*kib)
				s := newService(l.Mem)
				s.unseen = true
				s.fail[wire.Complete], s.lose[wire.Complete] = tc.fail, tc.lose
				res, err := l.via(t, s, body)
				if errors.Is(err, multipart.ErrUnknownOutcome) != tc.unknown || (err != nil) != tc.unknown {
					t.Fatal(err)
				}
				l.keptAs(t, res, "chosen-1", body)
				if l.Count(wire.Head) != 0 {
					t.Error("looked")
				}
			})
		})
	}
}

// The provider is told of each part before its request is asked for, with its digest,
// and of no more of them than half the lanes.
func TestAnticipate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(40*64*kib)
		s := newService(l.Mem)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second},
			storetest.Fault{Op: wire.PutPart, Part: 3, Status: 500, Code: "InternalError"})
		var early []presign.Part
		time.AfterFunc(500*time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			early = append(early, s.foreseen...)
		})
		if _, err := l.via(t, s, body); err != nil {
			t.Fatal(err)
		}
		if len(early) != 8+4 {
			t.Errorf("%d parts foreseen with 8 lanes taken", len(early))
		}
		if len(s.foreseen) != 40 {
			t.Errorf("%d of 40 parts foreseen", len(s.foreseen))
		}
		for i, p := range s.foreseen {
			if p.UploadID == "" || p.Checksum == "" || p.Key != "chosen-1" || p.Size != 64*kib {
				t.Errorf("%d: %+v", i, p)
			}
		}
	})
}

// A part whose bytes cannot be read says so, though it was to be told of ahead.
func TestAnticipateUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		s := newService(l.Mem)
		u, err := multipart.New(s, s, &l.options)
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("input/output error")
		src := chunker.NewReaderAt(readerAt(func(p []byte, off int64) (int, error) {
			if off >= 64*kib {
				return 0, broken
			}
			clear(p)
			return len(p), nil
		}), 3*64*kib)
		if _, err := u.Upload(t.Context(), object, src); !errors.Is(err, broken) {
			t.Error(err)
		}
		l.nothing(t)
	})
}

type readerAt func([]byte, int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// What a store's clock shows is passed on when it refuses for the time.
func TestLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		s := newService(l.Mem)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 2, Status: 403, Code: "RequestTimeTooSkewed"})
		if _, err := l.via(t, s, randomBytes(3*64*kib)); err != nil {
			t.Fatal(err)
		}
		if len(s.learned) != 1 || s.learned[0].IsZero() {
			t.Errorf("learned %v", s.learned)
		}
	})
}

// An upload that is aborted under the key which the service chose takes its journal, which
// is the asked key's, with it.
func TestServiceAborts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "source")
	if err := os.WriteFile(path, randomBytes(3*64*kib), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.Journal = journal.Open(filepath.Join(dir, "state"))
		s := newService(l.Mem)
		ctx, crash := context.WithCancel(t.Context())
		s.crash, s.fail[wire.Complete] = crash, []error{errCrash}
		u, err := multipart.New(s, s, &l.options)
		if err != nil {
			t.Fatal(err)
		}
		res, err := u.UploadFile(ctx, object, path)
		if err == nil {
			t.Fatal("not interrupted")
		}
		if err := u.Abort(t.Context(), multipart.Upload{Bucket: res.Object.Bucket, Key: "chosen-1", ID: res.UploadID}); err != nil {
			t.Fatal(err)
		}
		if left, _ := l.options.Journal.List(); len(left) != 0 || l.Uploads() != 0 {
			t.Errorf("%d uploads, journals: %+v", l.Uploads(), left)
		}
	})
}
