package mint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

const named = HeaderIdempotency + ": order 17"

// Fifty equal creates at once make one upload, and each caller gets it.
func TestServerEqualCreates(t *testing.T) {
	l := newServerLab(t)
	l.Script(storetest.Fault{Op: wire.Create, Delay: 50 * time.Millisecond}) // so that they meet
	ids := make([]createResponse, 50)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i] = l.begin(`{"filename":"a"}`, named) })
	}
	wg.Wait()
	for _, u := range ids {
		if u != ids[0] {
			t.Errorf("%v is not %v", u, ids[0])
		}
	}
	if l.Uploads() != 1 || l.Count(wire.Create) != 1 {
		t.Errorf("%d uploads by %d creates", l.Uploads(), l.Count(wire.Create))
	}
}

// The same create again is the same upload; another one of the same name is refused;
// without a name, or for another caller, it is another upload.
func TestServerIdempotency(t *testing.T) {
	l := newServerLab(t)
	first := l.begin(`{"filename":"a","metadata":{"x":"1","y":"2"}}`, named)
	if again := l.begin(`{ "metadata":{"y":"2","x":"1"}, "filename":"a" }`, named); again != first {
		t.Errorf("%v is not %v", again, first)
	}
	if a := l.ask("POST", pathMultipart, `{"filename":"b"}`, named); a.status != http.StatusUnprocessableEntity || l.Uploads() != 1 {
		t.Errorf("%d %s, %d uploads", a.status, a.text, l.Uploads())
	}
	others := []createResponse{first, l.begin(`{"filename":"a"}`, named, as(bobToken)), l.begin(`{"filename":"a"}`), l.begin(`{"filename":"a"}`)}
	if l.Uploads() != len(others) {
		t.Errorf("%d uploads", l.Uploads())
	}
}

// A client that hangs up leaves an upload that the next create of the name gets.
func TestServerCreateDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t)
		defer l.Close()
		l.Script(storetest.Fault{Op: wire.Create, Delay: time.Second})
		l.hangUp("POST", pathMultipart, `{"filename":"a"}`)
		l.begin(`{"filename":"a"}`, named)
		if l.Uploads() != 1 || l.Count(wire.Create) != 1 {
			t.Errorf("%d uploads by %d creates", l.Uploads(), l.Count(wire.Create))
		}
	})
}

// One who hangs up has his object or none, and the entry knows; and so with an abort.
func TestServerEndDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t)
		defer l.Close()
		l.Script(storetest.Fault{Op: wire.Complete, Delay: time.Second}, storetest.Fault{Op: wire.Abort, Delay: time.Second})
		u := l.begin(`{"filename":"a"}`)
		tag := l.sendPart(u, "1", "hello")
		l.hangUp("POST", at(u, "/complete"), fmt.Sprintf(`{"parts":[{"PartNumber":1,"ETag":%q}]}`, tag))
		if l.object(u.Key) != "hello" || len(l.h.book.entries) != 0 {
			t.Errorf("%q, entries %v", l.object(u.Key), l.h.book.entries)
		}
		u = l.begin(`{"filename":"a"}`)
		if l.hangUp("DELETE", at(u, ""), ""); l.Uploads() != 0 || len(l.h.book.entries) != 0 {
			t.Errorf("%d uploads, entries %v", l.Uploads(), l.h.book.entries)
		}
	})
}

// hangUp sends a request as Alice, named, and gives up after a moment.
func (l *serverLab) hangUp(method, target, body string) {
	ctx, cancel := context.WithCancel(l.t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+aliceToken)
	r.Header.Set(HeaderIdempotency, "order 17")
	l.h.ServeHTTP(httptest.NewRecorder(), r)
}

// After a restart with the same ledger and secret, the same create is the same upload,
// and it goes on.
func TestServerRestart(t *testing.T) {
	l := newServerLab(t)
	dir := t.TempDir()
	l.o.Ledger = mustOpen(t, dir)
	l.restart()
	u := l.begin(`{"filename":"a","size":5,"algorithm":"crc64nvme","fullObject":true}`, named)
	l.o.Ledger = mustOpen(t, dir)
	l.restart()
	if again := l.begin(`{"filename":"a","size":5,"algorithm":"crc64nvme","fullObject":true}`, named); again != u {
		t.Errorf("%v is not %v", again, u)
	}
	l.h = nil
	l.o.Ledger = nil // what is needed for the rest is in the id
	l.restart()
	tag := l.sendPart(u, "1", "hello")
	l.ask("POST", at(u, "/complete"), fmt.Sprintf(`{"parts":[{"PartNumber":1,"ETag":%q}]}`, tag)).read(t, &completeResponse{})
	if l.object(u.Key) != "hello" || l.Uploads() != 0 {
		t.Errorf("%q, %d uploads", l.object(u.Key), l.Uploads())
	}

	l.o.Ledger = mustOpen(t, dir)
	l.o.Bucket = "another" // the same name there is another upload, and those of this are nothing to it
	l.restart()
	if other := l.begin(`{"filename":"a","size":5,"algorithm":"crc64nvme","fullObject":true}`, named); other.Key == u.Key || other.Bucket != "another" || len(l.h.book.entries) != 1 {
		t.Errorf("%v of %v, entries %v", other, u, l.h.book.entries)
	}
	l.o.Bucket = u.Bucket

	l.o.Secret = nil // a random one: no old id is good any more
	l.restart()
	if a := l.ask("GET", at(u, ""), ""); a.status != http.StatusNotFound {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// The process dies between the create and its record: the upload is found at the store.
func TestServerCrash(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*serverLab, string) // is done before the restart, with the key
		creates   int
	}{
		"the only one": {func(*serverLab, string) {}, 1},
		"it is gone":   {func(l *serverLab, _ string) { l.Forget() }, 2},
		"two of a key": {func(l *serverLab, key string) {
			l.Create(context.Background(), multipart.Intent{Bucket: "bucket", Key: key})
		}, 3},
		"one of a longer key": {func(l *serverLab, key string) {
			l.Create(context.Background(), multipart.Intent{Bucket: "bucket", Key: key + "2"})
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newServerLab(t)
			dir := t.TempDir()
			l.o.Ledger = mustOpen(t, dir)
			l.restart()
			l.Script(storetest.Fault{Op: wire.Create, Apply: true, Reset: true})
			if a := l.ask("POST", pathMultipart, `{"filename":"a"}`, named); a.status != http.StatusBadGateway {
				t.Fatalf("%d %s", a.status, a.text)
			}
			entries, err := l.o.Ledger.Entries()
			if err != nil || len(entries) != 1 || entries[0].UploadID != "" {
				t.Fatalf("%+v %v", entries, err)
			}
			c.meanwhile(l, entries[0].Key)
			l.o.Ledger = mustOpen(t, dir)
			l.restart()
			u := l.begin(`{"filename":"a"}`, named)
			if u.Key != entries[0].Key || l.Count(wire.Create) != c.creates {
				t.Errorf("key %q instead of %q, %d creates", u.Key, entries[0].Key, l.Count(wire.Create))
			}
			if l.begin(`{"filename":"a"}`, named) != u {
				t.Error("the next create is another upload")
			}
			l.sendPart(u, "1", "hello") // it is one of the store's
		})
	}
}

// An upload of the same key that was begun before, or is another entry's, is not taken
// for the one that was not recorded.
func TestServerCrashStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t)
		defer l.Close()
		body := `{"filename":"a","key":"team/a"}`
		l.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: "team/a"})
		time.Sleep(time.Minute)
		other := l.begin(body, as(bobToken))
		l.Script(reset(wire.Create))
		if a := l.ask("POST", pathMultipart, body, as(bobToken), named); a.status != http.StatusBadGateway {
			t.Fatalf("%d %s", a.status, a.text)
		}
		u := l.begin(body, as(bobToken), named)
		if u.UploadID == other.UploadID || l.Uploads() != 3 {
			t.Errorf("%d uploads", l.Uploads())
		}
	})
}

// A refusal of the store leaves nothing; neither does a ledger that cannot write.
func TestServerCreateFails(t *testing.T) {
	l := newServerLab(t)
	l.Script(fault(wire.Create, 400, "InvalidArgument", ""))
	if a := l.ask("POST", pathMultipart, `{"filename":"a"}`, named); a.status != 400 {
		t.Errorf("%d %s", a.status, a.text)
	}
	l.Script(reset(wire.Create))
	if a := l.ask("POST", pathMultipart, `{"filename":"a"}`); a.status != 502 {
		t.Errorf("%d %s", a.status, a.text)
	}
	l.o.Control = nameless{l.Mem}
	l.restart()
	if a := l.ask("POST", pathMultipart, `{"filename":"a"}`); a.status != 502 {
		t.Errorf("an upload without an id: %d %s", a.status, a.text)
	}
	l.o.Control = l.Mem
	l.Forget()
	if len(l.h.book.entries) != 0 || len(l.h.book.busy) != 0 || len(l.h.book.callers) != 0 {
		t.Errorf("%+v", l.h.book.entries)
	}
	for puts := range 2 { // the first is the intent, the second the id
		l.o.Ledger = &fullLedger{Ledger: NewLedger(), puts: puts}
		l.restart()
		if a := l.ask("POST", pathMultipart, `{"filename":"a"}`, named); a.status != 500 || strings.Contains(a.text, "disk") {
			t.Errorf("%d %s", a.status, a.text)
		}
		if l.Uploads() != 0 || len(l.h.book.entries) != 0 {
			t.Errorf("%d uploads, entries %v", l.Uploads(), l.h.book.entries)
		}
	}
}

// nameless is a store whose uploads have no id.
type nameless struct{ *storetest.Mem }

func (n nameless) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	_, err := n.Mem.Create(ctx, i)
	return multipart.Upload{}, err
}

// fullLedger has room for so many writes.
type fullLedger struct {
	Ledger
	puts int
}

func (f *fullLedger) Put(e Entry) error {
	if f.puts--; f.puts < 0 {
		return errors.New("the disk is full")
	}
	return f.Ledger.Put(e)
}

// What is open is counted for each caller; what is completed, aborted or over is not.
func TestServerMaxOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t, func(o *Options) { o.MaxOpen = 2; o.Lifetime = time.Hour })
		defer l.Close()
		l.begin(`{"filename":"a"}`)
		l.begin(`{"filename":"a"}`, named)
		refused := func() {
			t.Helper()
			if a := l.ask("POST", pathMultipart, `{"filename":"a"}`); a.status != http.StatusTooManyRequests {
				t.Errorf("%d %s", a.status, a.text)
			}
		}
		refused()
		l.begin(`{"filename":"a"}`, named) // is there already
		l.begin(`{"filename":"a"}`, as(bobToken))
		l.restart() // the ledger is gone: nothing is known to be open
		first, second := l.begin(`{"filename":"a"}`), l.begin(`{"filename":"a"}`, named)
		refused()
		l.ask("DELETE", at(first, ""), "").read(t, &struct{}{})
		tag := l.sendPart(second, "1", "x")
		l.ask("POST", at(second, "/complete"), fmt.Sprintf(`{"parts":[{"PartNumber":1,"ETag":%q}]}`, tag)).read(t, &completeResponse{})
		l.begin(`{"filename":"a"}`)
		l.begin(`{"filename":"a"}`)
		refused()
		time.Sleep(2 * time.Hour)
		l.begin(`{"filename":"a"}`)
	})
}

// A name whose upload has gone from the store is good for another; one that was aborted
// is not, for a day.
func TestServerClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t)
		defer l.Close()
		old := l.begin(`{"filename":"a"}`, named)
		time.Sleep(time.Second)
		l.Forget()
		if a := l.ask("GET", at(old, ""), ""); a.status != http.StatusNotFound || !strings.Contains(a.text, "NoSuchUpload") {
			t.Errorf("%d %s", a.status, a.text)
		}
		u := l.begin(`{"filename":"a"}`, named)
		if u == old {
			t.Error("the upload that is gone is given again")
		}
		if l.ask("GET", at(old, ""), ""); l.begin(`{"filename":"a"}`, named) != u {
			t.Error("the upload that is gone has taken the new one with it")
		}
		l.ask("DELETE", at(u, ""), "").read(t, &struct{}{})
		l.ask("DELETE", at(u, ""), "").read(t, &struct{}{}) // is gone already
		if l.begin(`{"filename":"a"}`, named) != u || l.Uploads() != 0 {
			t.Error("the create that was repeated late has begun another upload")
		}
		time.Sleep(24*time.Hour + time.Minute)
		if l.begin(`{"filename":"a"}`, named) == u {
			t.Error("the name is kept for more than a day")
		}
	})
}
