package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// lies are what a store may do to bytes.
var lies = map[string]func([]byte) []byte{
	"flips a bit": func(b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b },
	"cuts":        func(b []byte) []byte { return b[:len(b)-1] },
	"doubles":     func(b []byte) []byte { return append(bytes.Clone(b), b...) },
	"drops":       func([]byte) []byte { return nil },
	"zeroes":      func(b []byte) []byte { return make([]byte, len(b)) },
}

// A store that has other bytes than it was sent, and whose checksums say so, is
// never believed; if it lies once about a part, the part is sent again.
func TestStoreThatRots(t *testing.T) {
	profiles := map[string]func(*multipart.Traits){
		"whole":     func(*multipart.Traits) {},
		"composite": func(tr *multipart.Traits) { tr.Algorithm, tr.FullObject = chunker.CRC32C, false },
		"etag":      func(tr *multipart.Traits) { tr.Algorithm, tr.FullObject = chunker.MD5, false },
	}
	for profile, change := range profiles {
		for name, lie := range lies {
			for _, op := range []wire.Operation{wire.PutPart, wire.PutObject, wire.Complete} {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, nil)
					tr := l.Traits()
					change(&tr)
					l.SetTraits(tr)
					l.Confess = true
					l.Tamper = func(o wire.Operation, part int, body []byte) []byte {
						if o == op && (part == 0 || part == 2) {
							return lie(body)
						}
						return body
					}
					size := 3 * 64 * kib
					if op == wire.PutObject {
						l.options.Threshold, size = 64*kib, 1000
					}
					_, err := l.upload(t.Context(), randomBytes(size))
					if op == wire.Complete && profile != "whole" && len(lie([]byte{1, 2})) == 2 {
						return // a checksum of the parts' says nothing of how they were put together
					}
					_, mismatch := errors.AsType[*multipart.MismatchError](err)
					if !mismatch && statusIn(err) != 400 { // the store may notice by itself
						t.Errorf("%s, %v %s: %v", profile, op, name, err)
					}
				})
			}
		}
	}
}

func TestPartThatRotsOnceIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(3*64*kib)
		l.Confess = true
		once := true
		l.Tamper = func(op wire.Operation, part int, b []byte) []byte {
			if op == wire.PutPart && part == 2 && once {
				once = false
				return lies["cuts"](b)
			}
			return b
		}
		r, err := l.upload(t.Context(), body)
		if err != nil || r.Retries != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		l.stored(t, body)
	})
}

// loser loses a part between its receipt and Complete, so often.
type loser struct {
	*storetest.Mem
	t     *testing.T
	times int
}

func (f *loser) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	if f.times > 0 {
		f.times--
		f.Lose(u.ID, 2)
	}
	return f.Mem.Complete(ctx, u, c)
}

// A part that the store has lost is sent again, once.
func TestLostPartIsRepaired(t *testing.T) {
	for _, times := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(4*64*kib)
			u := l.uploader(t, &loser{l.Mem, t, times}, l.Mem)
			r, err := u.Upload(t.Context(), object, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
			if times == 2 {
				if statusIn(err) != 400 {
					t.Errorf("err = %v", err)
				}
				l.nothing(t)
				return
			}
			if err != nil || r.Attempts != 5 {
				t.Errorf("%+v, %v", r, err)
			}
			l.stored(t, body)
		})
	}
}

// A stream's part cannot be sent again once it is gone.
func TestLostPartOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		u := l.uploader(t, &loser{l.Mem, t, 1}, l.Mem)
		if _, err := u.UploadStream(t.Context(), object, bytes.NewReader(randomBytes(4*64*kib)), 0); statusIn(err) != 400 {
			t.Errorf("err = %v", err)
		}
		l.nothing(t)
	})
}

// Google names a CRC32C of the whole, whatever the parts were sent with.
func TestWholeOfAnotherAlgorithm(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(3*64*kib+5)
			tr := l.Traits()
			tr.Algorithm, tr.FullObject, tr.Whole, tr.OpaqueETag = chunker.MD5, false, chunker.CRC32C, true
			l.SetTraits(tr)
			said := body
			if wrong {
				said = body[1:]
			}
			l.EditInfo = func(_ wire.Operation, info *multipart.Info) {
				info.Digest, _ = chunker.Sum(bytes.NewReader(said), chunker.CRC32C)
				info.ETag = `"CJjI5JC3"`
			}
			r, err := l.upload(t.Context(), body)
			if _, mismatch := errors.AsType[*multipart.MismatchError](err); mismatch != wrong {
				t.Errorf("wrong %v: %v", wrong, err)
			}
			if !wrong && r.Digest.Algorithm() != chunker.CRC32C {
				t.Errorf("digest %v", r.Digest)
			}
		})
	}
}

// An object that is looked up because no answer came is held against what was sent.
func TestLostAnswerOfAPut(t *testing.T) {
	for _, algorithm := range []chunker.Algorithm{chunker.CRC64NVME, chunker.MD5} {
		for _, rots := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(1000)
				tr := l.Traits()
				tr.Algorithm, tr.FullObject = algorithm, algorithm != chunker.MD5
				l.SetTraits(tr)
				l.options.Threshold, l.Confess = 64*kib, true
				if rots {
					l.Tamper = func(_ wire.Operation, _ int, b []byte) []byte { return lies["zeroes"](b) }
				}
				l.Script(storetest.Fault{Op: wire.PutObject, Times: -1, Apply: true, Reset: true})
				_, err := l.upload(t.Context(), body)
				if _, mismatch := errors.AsType[*multipart.MismatchError](err); mismatch != rots || !rots && err != nil {
					t.Errorf("%v, rots %v: %v", algorithm, rots, err)
				}
				l.wantRequests(t, wire.Head, 1)
			})
		}
	}
}
