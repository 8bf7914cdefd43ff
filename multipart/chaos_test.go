package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Streams that share a little memory, with faults, and cancelled at random times: what
// succeeds is right, and nothing is left.
func TestChaosStreams(t *testing.T) {
	for seed := range 25 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 7))
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				l.options.Memory = 4 * 64 * kib
				l.Script(storetest.Fault{Op: wire.PutPart, Every: 3, Reset: true, After: 1000}, storetest.Fault{Op: wire.PutPart, Every: 4, Status: 503, RetryAfter: "3"},
					storetest.Fault{Op: wire.PutPart, Every: 5, Delay: time.Duration(rng.IntN(20)) * time.Second})
				u := l.uploader(t, l.Mem, l.Mem)
				done := make(chan error, 3)
				for i := range 3 {
					ctx, cancel := context.WithCancel(t.Context())
					d := time.Duration(rng.IntN(40000)) * time.Millisecond
					if i > 0 {
						time.AfterFunc(d, cancel)
					}
					n := rng.IntN(20 * 64 * kib)
					go func() {
						defer cancel()
						start := time.Now()
						_, err := u.UploadStream(ctx, multipart.Object{Bucket: "bucket", Key: fmt.Sprint(i)}, iotest.HalfReader(bytes.NewReader(randomBytes(n))), 0)
						if e := time.Since(start); e > 5*time.Minute {
							t.Errorf("%v %v", e, err)
						}
						if err == nil {
							o, _ := l.Object(fmt.Sprint(i))
							if !bytes.Equal(o.Body, randomBytes(n)) {
								t.Error("other bytes")
							}
						}
						done <- err
					}()
				}
				for range 3 {
					if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
						t.Log(err)
					}
				}
				if l.Uploads() != 0 {
					t.Errorf("%d left", l.Uploads())
				}
				// all memory is back
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				if _, err := u.UploadStream(ctx, multipart.Object{Bucket: "bucket", Key: "z"}, bytes.NewReader(randomBytes(300*kib)), 0); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// An upload that is cut off at random times, again and again, and whose file may
// change in between, ends as the right object with nothing left.
func TestChaosResume(t *testing.T) {
	for seed := range 25 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 9))
			synctest.Test(t, func(t *testing.T) {
				k, o := newKept(t), object
				o.CreateOnly = rng.IntN(3) == 0
				if rng.IntN(3) == 0 {
					o.IdempotencyKey = "k"
				}
				k.Script(storetest.Fault{Times: -1, Delay: 300 * time.Millisecond})
				for range 6 {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, cancel)
					if rng.IntN(3) == 0 {
						k.body[rng.IntN(len(k.body))] ^= 1
						k.write(t)
					}
					_, err := k.uploader(t, k.Mem, k.Mem).UploadFile(ctx, o, k.path)
					cancel()
					if err == nil {
						obj, _ := k.Object("key")
						if !bytes.Equal(obj.Body, k.body) {
							t.Fatal("success with other bytes")
						}
					}
				}
				_, err := k.run(t, o)
				if err == nil {
					obj, _ := k.Object("key")
					if !bytes.Equal(obj.Body, k.body) {
						t.Fatal("success with other bytes")
					}
					if k.Uploads() != 0 || len(k.journals(t)) != 0 {
						for _, j := range k.journals(t) {
							t.Logf("%+v", j.Record)
						}
						left, _ := k.ListUploads(t.Context(), "bucket", "")
						t.Errorf("%d uploads %v, %d journals", k.Uploads(), left, len(k.journals(t)))
					}
				} else if !errors.Is(err, multipart.ErrExists) {
					t.Error(err)
				}
			})
		})
	}
}
