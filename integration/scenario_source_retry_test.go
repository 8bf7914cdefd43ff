package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// bodies compares what every request carries with the part of the source that it
// should be, as the store reads it. It is safe for concurrent use.
type bodies struct {
	src      check.Source
	partSize int64

	mu    sync.Mutex
	wrong []string
}

// rule never hits; it is how the requests come to be looked at before they are
// read.
func (b *bodies) rule() rawstore.Rule {
	return rawstore.Rule{Match: func(r *http.Request) bool {
		if r.Method == http.MethodPut {
			part, _ := strconv.ParseInt(r.URL.Query().Get("partNumber"), 10, 64)
			r.Body = &watchedBody{ReadCloser: r.Body, all: b, part: part, at: max(part-1, 0) * b.partSize}
		}
		return false
	}}
}

// watchedBody is the body of one attempt.
type watchedBody struct {
	io.ReadCloser
	all  *bodies
	part int64
	at   int64 // where in the source the next byte belongs
}

func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	want := make([]byte, n)
	m, _ := w.all.src.ReadAt(want, w.at)
	if !bytes.Equal(p[:n], want[:m]) {
		w.all.mu.Lock()
		w.all.wrong = append(w.all.wrong, fmt.Sprintf("an attempt at part %d does not carry the source's bytes from %d on", w.part, w.at))
		w.all.mu.Unlock()
	}
	w.at += int64(n)
	return n, err
}

func (b *bodies) right(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		t.Error(w)
	}
}

// https://github.com/restic/restic/issues/1351: the reader of a part was not
// rewound, so that another attempt stored the rest of it and called that saved.
// Every attempt here begins at the first byte and has all of them, or as many as
// the store has read.
func TestR20EveryAttemptIsWhole(t *testing.T) {
	check.Leaks(t)
	const partSize = 8 * mib
	cut := []rawstore.Step{rawstore.Read(3 * mib), rawstore.Refuse(503, "ServiceUnavailable", "not now")}
	after := []rawstore.Step{rawstore.ReadAll(), rawstore.Refuse(500, "InternalError", "not now")}
	reset := []rawstore.Step{rawstore.Read(1 * mib), rawstore.Reset()}
	inParts := []rawstore.Rule{
		{Op: rawstore.PutPart, Part: 2, Do: cut}, {Op: rawstore.PutPart, Part: 3, Do: after}, {Op: rawstore.PutPart, Part: 4, Do: reset},
	}
	inOne := []rawstore.Rule{
		{Op: rawstore.PutObject, From: 1, Do: cut}, {Op: rawstore.PutObject, From: 2, Do: after}, {Op: rawstore.PutObject, From: 3, Do: reset},
	}
	for name, c := range map[string]struct {
		parts  int64
		rules  []rawstore.Rule
		op     rawstore.Op
		faulty map[int]int // attempts that the store spoils, by part
	}{
		"parts":      {12, inParts, rawstore.PutPart, map[int]int{2: 1, 3: 1, 4: 1}},
		"one object": {1, inOne, rawstore.PutObject, map[int]int{0: 3}},
	} {
		src := check.Pattern(c.parts * partSize)
		for way, upload := range map[string]func(*desk, *testing.T) (multipart.Result, error){
			"a file":   func(d *desk, t *testing.T) (multipart.Result, error) { return d.file(t, src) },
			"a stream": func(d *desk, t *testing.T) (multipart.Result, error) { return d.stream(t, bytesOf(src), 0) },
		} {
			t.Run(name+" of "+way, func(t *testing.T) {
				seen := &bodies{src: src, partSize: partSize}
				s := rawstore.Start(t, rawstore.Options{Rules: append([]rawstore.Rule{seen.rule()}, c.rules...)})
				d := newDesk(t, generic(t), s.URL(), wire.Limits{})
				d.endpoint.Lanes, d.options.PartSize = 4, partSize
				if c.op == rawstore.PutObject {
					d.options.Threshold = 2 * partSize
				}
				if _, err := upload(d, t); err != nil {
					t.Fatal(err)
				}
				check.Equal(t, s.Client(), "bucket", "key", src, src.Size())
				check.NoUploads(t, s.Client(), "bucket", "key")
				seen.right(t)
				attempts := map[int]int{}
				for _, r := range s.Of(c.op, 0) {
					attempts[r.Part]++
					spoilt := attempts[r.Part] <= c.faulty[r.Part]
					if r.Size != partSize || r.Header.Get("Transfer-Encoding") != "" || !spoilt && r.Body != partSize {
						t.Errorf("attempt %d at part %d announces %d bytes and has %d", attempts[r.Part], r.Part, r.Size, r.Body)
					}
				}
				for part, n := range c.faulty {
					if attempts[part] != n+1 {
						t.Errorf("%d attempts at part %d, want %d", attempts[part], part, n+1)
					}
				}
			})
		}
	}
}

// https://github.com/minio/minio-go/pull/1673: an answer that comes early ends an
// attempt while its bytes are still being read, and the next attempt took the same
// reader, or another part the same buffer. The data path is HTTP/1.1 only, so
// that there is no other protocol to try. What it proves takes the race detector.
func TestR21EarlyAnswerAndPooledBuffers(t *testing.T) {
	check.Leaks(t)
	const atOnce = 4 // most of the time is waiting
	tests := map[string]func(*testing.T){}
	for i := range atOnce {
		tests[fmt.Sprint("uploader ", i)] = func(t *testing.T) {
			for round := range rounds / atOnce {
				t.Run(fmt.Sprint("round ", round), earlyAnswers)
			}
		}
	}
	together(t, tests)
}

func earlyAnswers(t *testing.T) {
	const partSize, parts, buffers = 2 * mib, 10, 8
	src := check.Random(t, parts*partSize-1)
	seen := &bodies{src: src, partSize: partSize}
	s := rawstore.Start(t, rawstore.Options{ReadBuffer: 64 * kib, Rules: []rawstore.Rule{seen.rule(),
		{Op: rawstore.PutPart, Do: []rawstore.Step{rawstore.Read(mib), rawstore.Refuse(503, "ServiceUnavailable", "not now"),
			rawstore.Drip(16*kib, time.Millisecond)}}}})
	d := newDesk(t, generic(t), s.URL(), wire.Limits{})
	d.endpoint.Lanes, d.options.PartSize, d.options.Memory = 8, partSize, buffers*partSize
	d.endpoint.Breaker.Cooldown = 10 * time.Millisecond
	d.options.Backoff.Base = time.Millisecond
	if _, err := d.stream(t, bytesOf(src), 0); err != nil {
		t.Fatal(err)
	}
	check.Equal(t, s.Client(), "bucket", "key", src, src.Size())
	check.NoUploads(t, s.Client(), "bucket", "key")
	seen.right(t)
	early := 0
	for part := 1; part <= parts; part++ {
		all := tries(d.events, part)
		if len(all) < 2 || all[0].Status != 503 {
			t.Errorf("%d attempts at part %d", len(all), part)
		} else if all[0].Sent < partSize {
			early++
		}
	}
	if early == 0 {
		t.Error("every part was sent to its end: no answer came early")
	}
}
