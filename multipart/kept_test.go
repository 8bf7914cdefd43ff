package multipart_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// kept is a lab with a journal and a file of 12 parts.
type kept struct {
	*lab
	dir  *journal.Dir
	path string
	body []byte
	had  int // parts at the store after an interrupt
}

const partBytes = 64 * kib

func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{lab: newLab(t, nil), dir: journal.Open(t.TempDir()), body: randomBytes(12 * partBytes)}
	k.options.Journal = k.dir
	k.path = filepath.Join(t.TempDir(), "file")
	k.write(t)
	return k
}

func (k *kept) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(k.path, k.body, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (k *kept) run(t *testing.T, o multipart.Object) (multipart.Result, error) {
	t.Helper()
	k.mu.Lock()
	k.events = nil
	k.mu.Unlock()
	return k.uploader(t, k.Mem, k.Mem).UploadFile(t.Context(), o, k.path)
}

// interrupt lets an upload fail at its last part, with what may be mended.
func (k *kept) interrupt(t *testing.T) {
	t.Helper()
	k.Script(storetest.Fault{Op: wire.PutPart, Part: 12, Delay: time.Second, Status: 403, Code: "AccessDenied"})
	_, err := k.run(t, object)
	e, ok := errors.AsType[*multipart.Error](err)
	if !ok || e.Journal == "" || statusIn(err) != 403 {
		t.Fatalf("err = %v", err)
	}
	if entries := k.journals(t); len(entries) != 1 || entries[0].Path != e.Journal || entries[0].Live || len(entries[0].Record.Parts) == 0 {
		t.Fatalf("journals %+v, the error says %q", entries, e.Journal)
	}
	r := k.journals(t)[0].Record
	parts, err := k.List(t.Context(), multipart.Upload{Bucket: r.Bucket, Key: r.Key, ID: r.UploadID})
	if k.had = len(parts); err != nil || k.had != 11 || len(r.Parts) != 11 {
		t.Fatalf("%d parts at the store, %d in the journal, %v", k.had, len(r.Parts), err)
	}
}

// endpointLanes gives the uploads an endpoint with so many lanes.
func (k *kept) endpointLanes(_ *testing.T, n int) {
	k.options.Endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: k.Client(), Lanes: n})
}

func (k *kept) journals(t *testing.T) []journal.Entry {
	t.Helper()
	entries, err := k.dir.List()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// finished fails unless the object is the file, and nothing is left anywhere.
func (k *kept) finished(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	k.stored(t, k.body)
	files, _ := filepath.Glob(filepath.Join(k.dir.Path(), "*"))
	if len(files) != 0 {
		t.Errorf("the folder of journals still has %q", files)
	}
}

func (k *kept) warned(t *testing.T, text string) {
	t.Helper()
	for _, e := range k.kinds(multipart.Warned) {
		if strings.Contains(e.Err.Error(), text) {
			return
		}
	}
	t.Errorf("no warning says %q: %v", text, k.kinds(multipart.Warned))
}

func statusIn(err error) int {
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return e.Status
	}
	return 0
}
