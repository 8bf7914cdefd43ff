package mint

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// countControl is a store that is never asked.
type countControl struct {
	multipart.Control
	presign.Provider
	renewals int
}

func (c *countControl) Traits() multipart.Traits { return multipart.Traits{} }

func (c *countControl) Renew(context.Context) error { c.renewals++; return nil }

// An upload that is too old is refused with 410 and aborted, and its name is free again.
func TestServerLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t, func(o *Options) { o.Lifetime = time.Hour })
		defer l.Close()
		for name, ask := range map[string]func(createResponse) serverAnswer{
			"sign":     func(u createResponse) serverAnswer { return l.ask("GET", at(u, "/1"), "") },
			"batch":    func(u createResponse) serverAnswer { return l.ask("GET", at(u, "/batch", queryPartNumbers, "1"), "") },
			"list":     func(u createResponse) serverAnswer { return l.ask("GET", at(u, ""), "") },
			"complete": func(u createResponse) serverAnswer { return l.ask("POST", at(u, "/complete"), `{}`) },
		} {
			u := l.begin(`{"filename":"a"}`, named)
			time.Sleep(time.Hour)
			if l.ask("GET", at(u, "/1"), "").status != http.StatusOK {
				t.Errorf("%s: it ends too early", name)
			}
			time.Sleep(time.Second)
			if a := ask(u); a.status != http.StatusGone || l.Uploads() != 0 {
				t.Errorf("%s: %d %s, %d uploads", name, a.status, a.text, l.Uploads())
			}
			if next := l.begin(`{"filename":"a"}`, named); next == u || l.Uploads() != 1 {
				t.Errorf("%s: the old upload is given again", name)
			}
			l.Forget()
			l.restart()
		}
	})
}

// A name whose upload has run out of time is good for another before the next sweep, and
// the old upload is aborted.
func TestServerLifetimeOfName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t, func(o *Options) { o.Lifetime = time.Hour })
		defer l.Close()
		old := l.begin(`{"filename":"a"}`, named)
		time.Sleep(time.Hour - time.Second)
		l.begin(`{"filename":"a"}`, as(bobToken)) // sweeps
		time.Sleep(2 * time.Second)
		l.Script(fault(wire.Abort, 503, "SlowDown", ""))
		if a := l.ask("POST", pathMultipart, `{"filename":"a"}`, named); a.status != http.StatusServiceUnavailable {
			t.Errorf("the old upload could not be aborted: %d %s", a.status, a.text)
		}
		u := l.begin(`{"filename":"a"}`, named)
		if u == old || u.Key != old.Key || l.Uploads() != 2 {
			t.Errorf("%v after %v, %d uploads", u, old, l.Uploads())
		}
		time.Sleep(30 * time.Minute)
		l.ask("GET", at(u, ""), "").read(t, &[]part{})
	})
}

// What nobody finishes is aborted by a later create, ten at a time, and tried again if
// the store is down. So is what was begun and never answered.
func TestServerSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t, func(o *Options) { o.Lifetime = time.Hour })
		defer l.Close()
		for range 11 {
			l.begin(`{"filename":"a"}`)
		}
		l.Script(storetest.Fault{Op: wire.Create, Apply: true, Reset: true})
		l.ask("POST", pathMultipart, `{"filename":"a"}`, named)
		time.Sleep(time.Hour)
		l.begin(`{"filename":"a"}`, as(bobToken))
		if l.Uploads() != 13 {
			t.Errorf("%d uploads", l.Uploads())
		}
		l.Script(fault(wire.Abort, 503, "SlowDown", ""))
		time.Sleep(2 * time.Minute)
		l.begin(`{"filename":"a"}`, as(bobToken))
		if l.Uploads() != 12-9+2 { // of the ten one was not aborted
			t.Errorf("%d uploads after the first sweep", l.Uploads())
		}
		time.Sleep(2 * time.Minute)
		l.begin(`{"filename":"a"}`, as(bobToken))
		if l.Uploads() != 3 { // those of Bob
			t.Errorf("%d uploads", l.Uploads())
		}
		for _, e := range l.h.book.entries {
			if e.Caller != "bob" {
				t.Errorf("%+v", e)
			}
		}
		if entries, _ := l.h.book.ledger.Entries(); len(entries) != 3 {
			t.Errorf("%d entries", len(entries))
		}
	})
}

// A store that never aborts is not asked for ever, and one that hangs holds a create up
// for ten seconds.
func TestServerSweepGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t, func(o *Options) { o.Lifetime = time.Hour })
		defer l.Close()
		l.begin(`{"filename":"a"}`)
		l.Script(storetest.Fault{Op: wire.Abort, Times: -1, Stall: true})
		time.Sleep(2 * time.Hour)
		before := time.Now()
		l.begin(`{"filename":"a"}`, as(bobToken))
		if took := time.Since(before); took != 10*time.Second {
			t.Errorf("the create took %v", took)
		}
		time.Sleep(8 * 24 * time.Hour)
		l.begin(`{"filename":"a"}`, as(bobToken))
		for _, e := range l.h.book.entries {
			if e.Caller == "alice" {
				t.Errorf("%+v is still there", e)
			}
		}
	})
}

// One who creates and aborts for ever does not fill the ledger.
func TestServerSurplus(t *testing.T) {
	b, err := openBook(NewLedger(), "b", time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i := range keptMost + 3 {
		closed := now
		b.set(Entry{ID: fmt.Sprintf("%08x", i), Caller: "c", UploadID: "u", Begun: now.Add(time.Duration(i)), Closed: &closed})
	}
	b.set(Entry{ID: "ff", Caller: "c", UploadID: "v", Begun: now.Add(-time.Minute)}) // is open
	b.set(Entry{ID: "fe", Caller: "c", Begun: now.Add(-48 * time.Hour)})             // is being created again
	b.busy["fe"] = struct{}{}
	dead, over := b.stale(now, 1)
	if len(dead) != 3 || len(over) != 0 || dead[0].ID != "00000000" || dead[2].ID != "00000002" {
		t.Errorf("%v %v", dead, over)
	}
	if dead, _ := b.stale(now.Add(sweepPause-1), 1); dead != nil {
		t.Error("it looks more than once a minute")
	}
}

// A request that is handed out ends when the provider says so, its credentials' end
// included.
func TestServerNotAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t)
		defer l.Close()
		u := l.begin(`{"filename":"a"}`)
		var r signedRequest
		l.ask("GET", at(u, "/1"), "").read(t, &r)
		if r.NotAfter != nil || r.Expires != 0 {
			t.Errorf("%+v", r)
		}
		l.TTL = 3*time.Second + time.Millisecond
		l.ask("GET", at(u, "/1"), "").read(t, &r)
		if r.NotAfter == nil || !r.NotAfter.Equal(time.Now().Add(l.TTL)) || r.Expires != 3 {
			t.Errorf("%+v", r)
		}
	})
}

// Credentials that the store takes for expired are asked for again.
func TestServerRenew(t *testing.T) {
	l := newServerLab(t)
	p := &countControl{Provider: l.Mem}
	l.o.Provider = p
	l.restart()
	u := l.begin(`{"filename":"a"}`)
	l.Script(fault(wire.List, 400, "ExpiredToken", ""), fault(wire.Abort, 403, "AccessDenied", ""))
	l.ask("GET", at(u, ""), "")
	l.ask("DELETE", at(u, ""), "")
	if p.renewals != 1 {
		t.Errorf("%d renewals", p.renewals)
	}
}
