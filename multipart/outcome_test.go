package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// hanging completes, or not, and then never answers.
type hanging struct {
	*storetest.Mem
	apply bool
}

func (h hanging) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if h.apply {
		h.Mem.Complete(ctx, u, c)
	}
	<-ctx.Done()
	return multipart.Info{}, context.Cause(ctx)
}

// A completion that the caller ends may have been applied, or be yet: it is
// looked for once, never aborted, never called cancelled.
func TestCancelDuringComplete(t *testing.T) {
	for _, apply := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			res, err := l.uploader(t, hanging{l.Mem, apply}, l.Mem).Upload(ctx, object, l.source(3*64*kib))
			if apply && (err != nil || res.ETag == "") {
				t.Errorf("the object is there, err = %v", err)
			}
			if !apply && (!errors.Is(err, multipart.ErrUnknownOutcome) || !errors.Is(err, context.Canceled)) {
				t.Errorf("err = %v", err)
			}
			l.wantRequests(t, wire.Head, 1)
			l.wantRequests(t, wire.Abort, 0)
		})
	}
}

// Looking whether Complete was applied is not another operation's success.
func TestCompleteFailsFiveTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.Complete, Times: -1, Status: 500})
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); !errors.Is(err, multipart.ErrAttempts) {
			t.Errorf("err = %v", err)
		}
		l.wantRequests(t, wire.Complete, 5)
		l.nothing(t)
	})
}

// A store that names no checksum with its answer is asked for it.
func TestAnswerWithoutProof(t *testing.T) {
	for name, tc := range map[string]struct {
		fault storetest.Fault
		fails bool
	}{
		"head proves it":    {storetest.Fault{}, false},
		"head is refused":   {storetest.Fault{Op: wire.Head, Status: 403, Times: -1}, false},
		"head finds nobody": {storetest.Fault{Op: wire.Head, Status: 404, Times: -1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(64*kib)
				l.Script(tc.fault)
				mute := lying{l.Mem, func(i *multipart.Info) { i.Digest = chunker.Digest{} }}
				_, err := l.uploader(t, mute, l.Mem).Upload(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
				if tc.fails != errors.Is(err, multipart.ErrUnknownOutcome) || tc.fails != (err != nil) {
					t.Errorf("err = %v", err)
				}
				l.wantRequests(t, wire.Head, 1)
			})
		})
	}
}

// plain is a store that names no checksum and keeps no metadata.
type plain struct {
	*storetest.Mem
	etag string // of what is under the key; "": of the object
}

func (p plain) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	info, err := p.Mem.Complete(ctx, u, c)
	info.Digest = chunker.Digest{}
	return info, err
}

func (p plain) Head(ctx context.Context, bucket, key string) (multipart.Info, error) {
	info, err := p.Mem.Head(ctx, bucket, key)
	info.Digest, info.Metadata = chunker.Digest{}, nil
	if p.etag != "" {
		info.ETag = p.etag
	}
	return info, err
}

// Without a token the object is known by the ETag that Complete gave it, and
// another one is not taken for it.
func TestProofWithoutMetadata(t *testing.T) {
	for etag, fails := range map[string]bool{"": false, `"another"`: true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			_, err := l.uploader(t, plain{l.Mem, etag}, l.Mem).Upload(t.Context(), object, l.source(64*kib))
			if fails != (err != nil) {
				t.Errorf("etag %q: err = %v", etag, err)
			}
		})
	}
}

// A store that only knows MD5 is asked for the size, and proves the object by its
// ETag: in the answer to Complete and under the key it must be the same.
func TestProofByETag(t *testing.T) {
	for name, tc := range map[string]struct {
		etag  string // "": the one that S3 makes
		fails bool
	}{"of the parts": {"", false}, "another": {`"nonsense-1"`, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				traits := l.Traits()
				traits.Algorithm, traits.FullObject = chunker.MD5, false
				l.SetTraits(traits)
				src := l.source(2*64*kib + 1)
				store := lying{l.Mem, func(i *multipart.Info) {
					if i.ETag = tc.etag; tc.etag == "" {
						i.ETag = md5ETag(src, 64*kib)
					}
				}}
				_, err := l.uploader(t, store, l.Mem).Upload(t.Context(), object, src)
				if _, mismatch := errors.AsType[*multipart.MismatchError](err); mismatch != tc.fails {
					t.Error(err)
				}
				l.wantRequests(t, wire.Head, 1)
			})
		})
	}
}

func md5ETag(src chunker.Source, partSize int64) string {
	plan := chunker.Plan{Size: src.Size(), PartSize: partSize}
	var digests []chunker.Digest
	for p := range plan.Parts() {
		d, _ := chunker.Sum(p.Reader(src), chunker.MD5)
		digests = append(digests, d)
	}
	whole, _ := chunker.Composite(digests)
	return fmt.Sprintf("%q", fmt.Sprintf("%s-%d", whole.Hex(), len(digests)))
}

// A success before the body was sent is none.
func TestSuccessTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, listener := newLab(t, nil), storetest.Listen()
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					c.Read(make([]byte, 4096))
					io.WriteString(c, "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n")
					time.Sleep(time.Second)
					c.Close()
				}()
			}
		}()
		client := wire.NewClient(wire.Options{Dial: listener.Dial})
		t.Cleanup(func() {
			listener.Close()
			client.CloseIdle()
			time.Sleep(time.Minute)
		})
		l.options.Threshold = 64 << 20
		l.options.Endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: client})
		if _, err := l.upload(t.Context(), make([]byte, 10<<20)); !errors.Is(err, multipart.ErrAttempts) {
			t.Errorf("err = %v", err)
		}
	})
}

// A file that goes up in one PUT and is deleted or grows meanwhile is as good
// as one that goes up in parts.
func TestSinglePutOfAFileThatChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(path string) error
		fails  bool
	}{
		"is deleted": {os.Remove, false},
		"changes":    {func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, func(l *lab, _ *multipart.EndpointOptions) { l.options.Threshold = 1 << 20 })
				path := filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(path, randomBytes(1000), 0o600); err != nil {
					t.Fatal(err)
				}
				l.Script(storetest.Fault{Op: wire.PutObject, Apply: true, Delay: time.Second, Status: 500})
				time.AfterFunc(time.Second/2, func() {
					if !tc.fails {
						tc.change(path)
					}
				})
				l.Script(storetest.Fault{Op: wire.PutObject, Delay: time.Second})
				time.AfterFunc(3*time.Second/2, func() {
					if tc.fails {
						tc.change(path)
					}
				})
				_, err := l.uploader(t, l.Mem, l.Mem).UploadFile(t.Context(), object, path)
				if tc.fails != errors.Is(err, multipart.ErrSourceChanged) || tc.fails != (err != nil) {
					t.Errorf("err = %v", err)
				}
			})
		})
	}
}

// useless hands out requests that cannot be used.
type useless struct {
	*storetest.Mem
	request presign.Request
}

func (u useless) Presign(context.Context, presign.Part) (presign.Request, error) {
	return u.request, nil
}

func TestUselessRequests(t *testing.T) {
	for _, r := range []presign.Request{{URL: "http://mem/bucket/key"}, {Method: "GET", URL: "http://mem/bucket/key"}, {Method: "PUT", URL: "http://[::1"}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			if _, err := l.uploader(t, l.Mem, useless{l.Mem, r}).Upload(t.Context(), object, l.source(100)); err == nil {
				t.Errorf("%+v: no error", r)
			}
			l.wantRequests(t, wire.PutPart, 0)
			l.wantFullBudget(t)
			l.nothing(t)
		})
	}
}

// slowMint takes a second for a request.
type slowMint struct{ *storetest.Mem }

func (s slowMint) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	time.Sleep(time.Second)
	return s.Mem.Presign(ctx, p)
}

// Two uploads of the same bytes to the same key with other properties do not
// share a request.
func TestPropertiesAreOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(l *lab, _ *multipart.EndpointOptions) { l.options.Threshold = 1 << 20 })
		u := l.uploader(t, l.Mem, slowMint{l.Mem})
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				o := object
				o.Metadata = map[string]string{"n": fmt.Sprint(i)}
				u.Upload(t.Context(), o, chunker.NewReaderAt(bytes.NewReader([]byte("same")), 4))
			})
		}
		wg.Wait()
		if got, _ := l.Object(object.Key); got.Header.Get("X-Amz-Meta-N") != "1" {
			t.Errorf("the second upload's object has the first one's metadata %q", got.Header.Get("X-Amz-Meta-N"))
		}
	})
}

// Credentials that end are renewed for control calls too, and once for all parts
// that are refused together.
func TestRenewals(t *testing.T) {
	t.Run("control", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			p := &provider{Mem: l.Mem}
			l.Script(storetest.Fault{Op: wire.Complete, Times: 2, Status: 400, Code: "ExpiredToken"})
			if _, err := l.uploader(t, l.Mem, p).Upload(t.Context(), object, l.source(64*kib)); err != nil || p.renewed != 2 {
				t.Errorf("renewed %d times, err = %v", p.renewed, err)
			}
		})
	})
	t.Run("parts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			p := &provider{Mem: l.Mem}
			for part := 1; part <= 8; part++ {
				l.Script(storetest.Fault{Op: wire.PutPart, Part: part, Status: 400, Code: "ExpiredToken", Delay: time.Duration(part) * 10 * time.Millisecond})
			}
			if _, err := l.uploader(t, l.Mem, p).Upload(t.Context(), object, l.source(8*64*kib)); err != nil || p.renewed != 1 {
				t.Errorf("renewed %d times, err = %v", p.renewed, err)
			}
		})
	})
}

// The store got other bytes than were hashed: they are read again, twice, and
// then the source is given up.
func TestBadDigest(t *testing.T) {
	for times, fails := range map[int]bool{2: false, 3: true} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(64*kib)
			l.Script(storetest.Fault{Op: wire.PutPart, Times: times, Status: 400, Code: "BadDigest"})
			_, err := l.upload(t.Context(), body)
			if fails != (err != nil) {
				t.Errorf("%d times: err = %v", times, err)
			}
			l.wantRequests(t, wire.PutPart, 3)
		})
	}
}

// After a reset the part asks first; after an answer it does not.
func TestExpectAfterReset(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  storetest.Fault
		expect bool
	}{
		"reset": {storetest.Fault{Op: wire.PutPart, Reset: true}, true},
		"503":   {storetest.Fault{Op: wire.PutPart, Status: 503}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			l.Script(tc.fault)
			if _, err := l.upload(t.Context(), randomBytes(64*kib)); err != nil {
				t.Fatal(err)
			}
			puts := slices.DeleteFunc(l.Requests(), func(r storetest.Request) bool { return r.Op != wire.PutPart })
			if len(puts) != 2 || puts[0].Expect || puts[1].Expect != tc.expect {
				t.Errorf("%s: %+v", name, puts)
			}
		})
	}
}

// Old Ceph says only 403; the clock says why.
func TestExpiredByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.TTL = time.Hour
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 403, Code: "AccessDenied"})
		provider := providerFunc(func(ctx context.Context, part presign.Part) (presign.Request, error) {
			r, err := l.Mem.Presign(ctx, part)
			r.NotAfter = time.Now().Add(time.Millisecond) // over when it arrives, by a clock that counts seconds
			return r, err
		})
		if _, err := l.uploader(t, l.Mem, provider).Upload(t.Context(), object, l.source(64*kib)); err != nil {
			t.Error(err)
		}
	})
}

type providerFunc func(context.Context, presign.Part) (presign.Request, error)

func (f providerFunc) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	return f(ctx, p)
}

// forgetful says that it has aborted before it does.
type forgetful struct {
	*storetest.Mem
	aborts *int
}

func (f forgetful) Abort(ctx context.Context, u multipart.Upload) error {
	if *f.aborts++; *f.aborts == 1 {
		return nil
	}
	return f.Mem.Abort(ctx, u)
}

// Parts that are still there after the abort are dropped by another one.
func TestAbortAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, aborts := newLab(t, nil), 0
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 2, Status: 403, Delay: time.Second})
		_, err := l.uploader(t, forgetful{l.Mem, &aborts}, l.Mem).Upload(t.Context(), object, l.source(2*64*kib))
		var e *multipart.Error
		if !errors.As(err, &e) || e.Abort != nil || aborts != 2 {
			t.Errorf("%d aborts, err = %v", aborts, err)
		}
		l.nothing(t)
	})
}

// An upload that cannot be dropped is named in the error.
func TestAbortFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Status: 403}, storetest.Fault{Op: wire.Abort, Status: 403, Times: -1})
		_, err := l.upload(t.Context(), randomBytes(64*kib))
		var e *multipart.Error
		if !errors.As(err, &e) || e.Abort == nil || !bytes.Contains([]byte(err.Error()), []byte(e.UploadID)) {
			t.Errorf("err = %v", err)
		}
	})
}

// A create whose answer was lost may have begun an upload that nobody knows.
func TestCreateInDoubt(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  storetest.Fault
		orphan bool
	}{
		"answer lost":        {storetest.Fault{Apply: true, Reset: true}, true},
		"answered by a gate": {storetest.Fault{Apply: true, Status: 504}, true},
		"no answer":          {storetest.Fault{Stall: true}, true},
		"refused":            {storetest.Fault{Status: 503, Code: "SlowDown"}, false},
	} {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", fails ", fails), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, nil)
					tc.fault.Op = wire.Create
					if fails {
						tc.fault.Times = -1
					}
					l.Script(tc.fault)
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					if !fails && tc.fault.Stall {
						return // it has no end of its own here
					}
					_, err := l.upload(ctx, randomBytes(64*kib))
					var e *multipart.Error
					if fails != errors.As(err, &e) || fails && e.Orphan != tc.orphan {
						t.Errorf("err = %v", err)
					}
					if warned := len(l.kinds(multipart.Warned)) > 0; warned != (tc.orphan && !fails) {
						t.Errorf("warned: %v", warned)
					}
				})
			})
		}
	}
}
