package integration

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// barrier lets go of those who wait at it together, so many at a time.
type barrier struct {
	size int

	mu      sync.Mutex
	waiting int
	open    chan struct{}
}

func newBarrier(size int) *barrier { return &barrier{size: size, open: make(chan struct{})} }

// wait returns when so many wait, or when the request is over.
func (b *barrier) wait(r *http.Request) {
	b.mu.Lock()
	open := b.open
	if b.waiting++; b.waiting == b.size {
		b.waiting, b.open = 0, make(chan struct{})
		close(open)
	}
	b.mu.Unlock()
	select {
	case <-open:
	case <-r.Context().Done():
	}
}

// isPart tells the request for a part.
func isPart(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") != ""
}

// isComplete tells Complete.
func isComplete(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Get("uploadId") != ""
}

// R41 b and c, https://github.com/alexmojaki/s3-stream-upload/issues/17: what is no receipt
// counts for none, and the object has the size of the source or the upload has failed.
func TestR41EveryPartCounts(t *testing.T) {
	check.Leaks(t)
	t.Run("b: a part is answered without an ETag", func(t *testing.T) {
		src := check.Pattern(scenarioParts * smallPart)
		l := newFinishLab(t, rawstore.Rule{Op: rawstore.PutPart, Part: 7, Do: then(applied, rawstore.Answer(http.StatusOK, nil, ""))})
		if _, err := l.send(t, src); err != nil {
			t.Fatal(err)
		}
		l.holds(t, src)
		if n := len(l.store.Of(rawstore.PutPart, 7)); n != 2 || l.count(rawstore.PutPart) != scenarioParts+1 {
			t.Errorf("part 7 was sent %d times, all together %d", n, l.count(rawstore.PutPart))
		}
	})
	t.Run("c: the store leaves out a part", func(t *testing.T) { leavesOut(t, 1) })
	t.Run("c: and its answer is lost", func(t *testing.T) {
		leavesOut(t, 1, rawstore.Rule{Op: rawstore.Complete, Do: then(applied, rawstore.Reset())})
	})
	t.Run("c: the store makes an empty object", func(t *testing.T) { leavesOut(t, scenarioParts) })
}

// https://github.com/alexmojaki/s3-stream-upload/issues/17: a race in the list of
// parts lost some of them, and the store made an object of the others. Here the parts
// are counted and added up before they become an object, and its size is looked at
// afterwards.
//
// The answers to all parts of eight uploads, of eight lanes each, are held until the
// last of them has arrived.
func TestR41AnswersAtOnce(t *testing.T) {
	check.Leaks(t)
	const uploads, lanes, times = 8, 8, 50
	gate := newBarrier(uploads * lanes)
	labs, readers := make([]*finishLab, uploads), make([]*s3.Client, uploads)
	for i := range labs {
		labs[i] = newFinishLab(t)
		readers[i] = labs[i].store.Client()
		labs[i].endpoint.Lanes, labs[i].options.PartSize = lanes, 4*kib
		labs[i].between(t, func(w http.ResponseWriter, r *http.Request, store http.Handler) {
			answer := newHeldAnswer(store, r)
			if isPart(r) {
				gate.wait(r)
			}
			answer.give(w)
		})
	}
	for range times {
		src := check.Random(t, lanes*4*kib)
		var wg sync.WaitGroup
		for i, l := range labs {
			u := l.uploader(t)
			wg.Go(func() {
				if res, err := u.Upload(t.Context(), object, source{src}); err != nil || res.Attempts != lanes {
					t.Errorf("%d: %d attempts, %v", i, res.Attempts, err)
				}
			})
		}
		wg.Wait()
		for _, r := range readers {
			check.Equal(t, r, "bucket", "key", src, src.Size())
		}
	}
	for _, r := range readers {
		check.NoUploads(t, r, "bucket", "key")
	}
}

// heldAnswer is an answer that is kept back.
type heldAnswer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func newHeldAnswer(store http.Handler, r *http.Request) *heldAnswer {
	h := &heldAnswer{header: http.Header{}}
	store.ServeHTTP(h, r)
	return h
}

func (h *heldAnswer) Header() http.Header         { return h.header }
func (h *heldAnswer) WriteHeader(status int)      { h.status = status }
func (h *heldAnswer) Write(b []byte) (int, error) { return h.body.Write(b) }

func (h *heldAnswer) give(w http.ResponseWriter) {
	for name, values := range h.header {
		w.Header()[name] = values
	}
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes()) // an error means that nobody listens any more
}

// leavesOut uploads to a store that makes the object of all parts but n: of none, it
// says that it is empty.
func leavesOut(t *testing.T, n int, rules ...rawstore.Rule) {
	l := newFinishLab(t, rules...)
	l.between(t, func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		switch {
		case isComplete(r) && n < scenarioParts:
			list := askedParts(t, r)
			list.Part = append(list.Part[:6], list.Part[6+n:]...)
			replaceBody(t, r, list)
		case r.Method == http.MethodHead && n == scenarioParts:
			answer := newHeldAnswer(store, r)
			answer.header.Set("Content-Length", "0")
			answer.give(w)
			return
		}
		store.ServeHTTP(w, r)
	})
	_, err := l.send(t, check.Pattern(scenarioParts*smallPart))
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || e.Op != wire.Complete || !strings.Contains(err.Error(), "size mismatch") {
		t.Errorf("err = %v", err)
	}
	if m, ok := errors.AsType[*multipart.MismatchError](err); !ok || m.What != "size" || m.Want != strconv.Itoa(scenarioParts*smallPart) {
		t.Errorf("mismatch %+v", m)
	}
}

// partList is what Complete sends.
type partList struct {
	XMLName xml.Name `xml:"CompleteMultipartUpload"`
	Part    []struct {
		PartNumber int
		ETag       string
	}
}

// askedParts reads the list that Complete sends.
func askedParts(t *testing.T, r *http.Request) (list partList) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, xml.Unmarshal(body, &list)); err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return list
}

func replaceBody(t *testing.T, r *http.Request, v any) {
	t.Helper()
	body, err := xml.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

// https://github.com/apache/opendal/issues/2904: a store that wants all parts but the
// last to have one size got those that the reader happened to give, or growing ones.
// Here each part is filled, however little comes at a time.
func TestR37EqualParts(t *testing.T) {
	check.Leaks(t)
	const size = 41 * mib
	l := newFinishLab(t)
	// Without the store's wish, so few parts would begin to grow at once.
	l.profile.Traits.EqualParts, l.profile.Traits.Limits.MaxParts = true, 12
	l.options.PartSize, l.options.Memory = 0, 64*mib
	sizes := equalSizes{}
	l.between(t, func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		switch {
		case isPart(r):
			sizes.add(r)
		case isComplete(r) && !sizes.equal(askedParts(t, r)):
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<Error><Code>InvalidPart</Code><Message>All non-trailing parts must have the same length.</Message></Error>")
			return
		}
		store.ServeHTTP(w, r)
	})
	src := check.Pattern(size)
	res, err := l.uploader(t).UploadStream(t.Context(), object, &pieces{r: io.NewSectionReader(src, 0, size), random: rand.New(rand.NewPCG(37, 0))}, 0)
	logTrouble(t, l.events)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, src)
	l.sentOnce(t, res.Parts)
	l.completed(t, 1, 1)
	if res.Parts < 3 {
		t.Errorf("%d parts prove nothing", res.Parts)
	}
}

// equalSizes are the sizes of parts that arrived. The zero value is empty; it is safe
// for concurrent use.
type equalSizes struct{ sizes sync.Map }

func (e *equalSizes) add(r *http.Request) {
	e.sizes.Store(r.URL.Query().Get("partNumber"), r.ContentLength)
}

// equal tells whether all parts but the last have one size, and that none more.
func (e *equalSizes) equal(list partList) bool {
	size := func(i int) int64 {
		n, _ := e.sizes.Load(strconv.Itoa(list.Part[i].PartNumber))
		return n.(int64)
	}
	for i := range list.Part {
		if last := i == len(list.Part)-1; size(i) > size(0) || size(i) < size(0) && !last {
			return false
		}
	}
	return true
}

// pieces reads 1 to 70 KiB at a time, and then takes its time.
type pieces struct {
	r      io.Reader
	random *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	<-time.After(time.Duration(p.random.Int64N(int64(3 * time.Millisecond))))
	return p.r.Read(b[:min(len(b), kib+p.random.IntN(69*kib+1))])
}
