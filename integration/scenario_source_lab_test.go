package integration

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

const gib = 1 << 30

// desk is an uploader of files and streams to whatever store is at an address.
type desk struct {
	profile  s3store.Profile // its limits may be changed before an upload
	wire     *wire.Client
	client   *s3.Client
	provider presign.Provider
	endpoint multipart.EndpointOptions
	options  multipart.Options
	dialed   dialed
	events   []multipart.Event // of the last upload
}

// newDesk makes a desk; nothing goes up in one PUT unless the test says so.
func newDesk(t *testing.T, profile s3store.Profile, url string, limits wire.Limits) *desk {
	t.Helper()
	d := &desk{profile: profile}
	d.wire = wire.NewClient(wire.Options{Limits: limits, Dial: d.dialed.dial})
	t.Cleanup(d.wire.CloseIdle)
	d.client = s3store.NewClient(aws.Config{Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")}, profile, url, d.wire)
	d.provider = s3presign.New(d.client, 0)
	d.options = multipart.Options{Threshold: -1, Backoff: multipart.Backoff{Base: 10 * time.Millisecond}}
	return d
}

// uploader makes an uploader with an endpoint of its own.
func (d *desk) uploader(t *testing.T) *multipart.Uploader {
	t.Helper()
	d.endpoint.Client = d.wire
	options := d.options
	options.Endpoint = multipart.NewEndpoint(d.endpoint)
	d.events = nil
	if options.OnEvent == nil {
		options.OnEvent = func(e multipart.Event) { d.events = append(d.events, e) }
	}
	u, err := multipart.New(s3store.New(d.client, d.profile, d.wire), d.provider, &options)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var aimed = multipart.Object{Bucket: "bucket", Key: "key"}

// file uploads the source from its place, stream as a stream.
func (d *desk) file(t *testing.T, src check.Source) (multipart.Result, error) {
	t.Helper()
	res, err := d.uploader(t).Upload(t.Context(), aimed, source{src})
	logTrouble(t, d.events)
	return res, err
}

func (d *desk) stream(t *testing.T, r io.Reader, expected int64) (multipart.Result, error) {
	t.Helper()
	res, err := d.uploader(t).UploadStream(t.Context(), aimed, r, expected)
	logTrouble(t, d.events)
	return res, err
}

// warnings are what the last upload warned of.
func (d *desk) warnings() string {
	var b strings.Builder
	for _, e := range d.events {
		if e.Kind == multipart.Warned {
			fmt.Fprintln(&b, e.Err)
		}
	}
	return b.String()
}

// ledger is a store for gigabytes: it keeps no bytes, and writes down what came.
// If it knows what is sent, it looks at every byte of it and at where the parts
// belong. It takes every checksum for true. It is safe for concurrent use.
type ledger struct {
	url    string
	src    check.Source                         // what is sent; empty: nobody looks
	refuse func(op rawstore.Op, part int) error // *s3Error or nil; nil refuses nothing

	mu      sync.Mutex
	counts  map[rawstore.Op]int
	tries   map[int]int // by part
	uploads map[string]map[int]entry
	last    int
	objects map[string]int64 // sizes
	wrong   []string
}

// entry is a part.
type entry struct {
	at, size int64
	etag     string
}

// s3Error is a refusal as S3 spells it.
type s3Error struct {
	status        int
	Code, Message string
}

func (e *s3Error) Error() string { return e.Code }

// newLedger starts a ledger, which runs until the test ends.
func newLedger(t *testing.T, src check.Source) *ledger {
	t.Helper()
	l := &ledger{src: src, counts: map[rawstore.Op]int{}, tries: map[int]int{}, uploads: map[string]map[int]entry{}, objects: map[string]int64{}}
	server := httptest.NewServer(l)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	l.url = server.URL
	return l
}

// desk is a desk before the ledger, with a store's checksums of today.
func (l *ledger) desk(t *testing.T) *desk {
	t.Helper()
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	return newDesk(t, profile, l.url, wire.Limits{})
}

// ServeHTTP implements [http.Handler].
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op, part := opOf(r)
	if r.Method == http.MethodPut && l.src.Size() == 0 {
		l.discard(w, r, op, part)
		return
	}
	if r.Method == http.MethodPut {
		at, size, err := l.read(r)
		if err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d at %d"`, size, at))
		l.answer(w, l.put(r, op, part, entry{at: at, size: size, etag: w.Header().Get("ETag")}))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	l.answer(w, l.control(r, op, body))
}

// opOf tells operations apart.
func opOf(r *http.Request) (rawstore.Op, int) {
	q := r.URL.Query()
	part, _ := strconv.Atoi(q.Get("partNumber"))
	switch r.Method {
	case http.MethodPut:
		if part > 0 {
			return rawstore.PutPart, part
		}
		return rawstore.PutObject, 0
	case http.MethodPost:
		if q.Has("uploads") {
			return rawstore.Create, 0
		}
		return rawstore.Complete, 0
	case http.MethodDelete:
		return rawstore.Abort, 0
	case http.MethodHead:
		return rawstore.Head, 0
	}
	if q.Has("uploadId") {
		return rawstore.ListParts, 0
	}
	return rawstore.Other, 0
}

// read reads a body to its end, and tells where in the source it belongs.
func (l *ledger) read(r *http.Request) (at, size int64, err error) {
	buf, want := make([]byte, 256*kib), make([]byte, 256*kib)
	looks := l.src.Size() > 0
	for {
		n, err := io.ReadFull(r.Body, buf)
		if looks && size == 0 {
			at = l.place(buf[:n])
		}
		if looks {
			m, _ := l.src.ReadAt(want[:n], at+size)
			if !bytes.Equal(buf[:n], want[:m]) {
				l.complain("the bytes from %d on are not the source's", at+size)
				looks = false
			}
		}
		size += int64(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF && size == r.ContentLength {
			return at, size, nil
		}
		if err != nil {
			return at, size, err
		}
	}
}

// discard has the kernel drop a body, where it can do that: the race detector
// would look at every byte.
func (l *ledger) discard(w http.ResponseWriter, r *http.Request, op rawstore.Op, part int) {
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // HTTP/1.1: cannot happen
	}
	defer conn.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer null.Close()
	ahead, _ := in.Discard(int(min(int64(in.Reader.Buffered()), r.ContentLength))) // cannot fail
	if _, err := io.CopyN(null, conn, r.ContentLength-int64(ahead)); err != nil {
		return
	}
	e := entry{size: r.ContentLength, etag: fmt.Sprintf(`"%d of %d"`, r.ContentLength, part)}
	if l.put(r, op, part, e) == nil {
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nETag: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", e.etag)
	}
}

// place is where in the source the bytes come from, by their first word.
func (l *ledger) place(b []byte) int64 {
	var seed [8]byte
	l.src.ReadAt(seed[:], 0)
	if len(b) < len(seed) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(seed[:]))
}

func (l *ledger) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// put takes a part or an object.
func (l *ledger) put(r *http.Request, op rawstore.Op, part int, e entry) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[op]++
	l.tries[part]++
	if l.refuse != nil {
		if err := l.refuse(op, part); err != nil {
			return err
		}
	}
	if op == rawstore.PutObject {
		l.objects[r.URL.Path] = e.size
		return nil
	}
	parts := l.uploads[r.URL.Query().Get("uploadId")]
	if parts == nil {
		return &s3Error{http.StatusNotFound, "NoSuchUpload", "there is no such upload"}
	}
	parts[part] = e
	return nil
}

// control does everything but taking bytes.
func (l *ledger) control(r *http.Request, op rawstore.Op, body []byte) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[op]++
	id := r.URL.Query().Get("uploadId")
	_, open := l.uploads[id]
	size, made := l.objects[r.URL.Path]
	switch {
	case op == rawstore.Create:
		l.last++
		id := fmt.Sprint("upload-", l.last)
		l.uploads[id] = map[int]entry{}
		return struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			UploadId string
		}{UploadId: id}
	case op == rawstore.Head && made:
		return http.Header{"Content-Length": {fmt.Sprint(size)}, "Etag": {`"ledger"`}}
	case !open:
		return &s3Error{http.StatusNotFound, "NoSuchUpload", "there is nothing"}
	case op == rawstore.Complete:
		return l.complete(r, id, body)
	case op == rawstore.Abort:
		delete(l.uploads, id)
	}
	return nil
}

// complete makes an object of parts, if they are a source from its first byte on.
func (l *ledger) complete(r *http.Request, id string, body []byte) any {
	var asked struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(body, &asked); err != nil {
		return &s3Error{http.StatusBadRequest, "MalformedXML", err.Error()}
	}
	var size int64
	for _, p := range asked.Part {
		e := l.uploads[id][p.PartNumber]
		if e.etag != p.ETag {
			return &s3Error{http.StatusBadRequest, "InvalidPart", fmt.Sprint("part ", p.PartNumber)}
		}
		if l.src.Size() > 0 && e.at != size {
			l.wrong = append(l.wrong, fmt.Sprintf("part %d holds what belongs at %d, and lies at %d", p.PartNumber, e.at, size))
		}
		size += e.size
	}
	l.objects[r.URL.Path] = size
	delete(l.uploads, id)
	return struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		ETag              string
		ChecksumCRC64NVME string
		ChecksumType      string
	}{ETag: `"ledger"`, ChecksumCRC64NVME: r.Header.Get("X-Amz-Checksum-Crc64nvme"), ChecksumType: "FULL_OBJECT"}
}

// answer says what came of a request: a refusal, headers, a document or nothing.
func (l *ledger) answer(w http.ResponseWriter, what any) {
	w.Header().Set("X-Amz-Request-Id", "LEDGER")
	switch v := what.(type) {
	case nil:
	case http.Header:
		for name := range v {
			w.Header().Set(name, v.Get(name))
		}
	case *s3Error:
		w.WriteHeader(v.status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", v.Code, v.Message)
	default:
		text, err := xml.Marshal(v)
		if err != nil {
			panic(err) // plain structs: cannot happen
		}
		w.Write(text)
	}
}

// count is how many requests for the operation there were.
func (l *ledger) count(op rawstore.Op) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[op]
}

// total is how many requests there were at all.
func (l *ledger) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.counts {
		n += c
	}
	return n
}

// holds fails the test unless the object is there, of that size and right, and no
// upload is open.
func (l *ledger) holds(t *testing.T, path string, size int64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got, ok := l.objects[path]; !ok || got != size {
		t.Errorf("%s has %d bytes, want %d", path, got, size)
	}
	l.sound(t)
}

// nothing fails the test unless no object was made, or asked for, and no upload
// is open.
func (l *ledger) nothing(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.objects) > 0 || l.counts[rawstore.Complete] > 0 {
		t.Errorf("%d objects, %d completions", len(l.objects), l.counts[rawstore.Complete])
	}
	l.sound(t)
}

func (l *ledger) sound(t *testing.T) {
	t.Helper()
	for _, w := range l.wrong {
		t.Error(w)
	}
	if len(l.uploads) > 0 {
		t.Errorf("%d uploads are open", len(l.uploads))
	}
}

// bytesOf is a stream of the source.
func bytesOf(src check.Source) io.Reader { return io.NewSectionReader(src, 0, src.Size()) }
