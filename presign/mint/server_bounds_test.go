package mint

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// A length of 0 is in no signature: what is said to have no byte carries the digest of
// nothing, or else it would be good for any size.
func TestServerBindsEmpty(t *testing.T) {
	l := newServerLab(t)
	var p paramsResponse
	l.ask("GET", pathParams+"?filename=a&size=0", "", as(bobToken)).read(t, &p)
	if p.Headers["Content-Md5"] != emptyMD5 {
		t.Errorf("an object: %v", p.Headers)
	}
	u := l.begin(`{"filename":"a"}`)
	var r signedRequest
	l.ask("GET", at(u, "/1", querySize, "0"), "").read(t, &r)
	if r.Headers["Content-Md5"] != emptyMD5 {
		t.Errorf("a part: %v", r.Headers)
	}
	l.ask("GET", at(u, "/1"), "").read(t, &r)
}

// A service without a limit signs forms for what one request may carry, and not for
// nothing.
func TestServerFormWithoutLimit(t *testing.T) {
	l := newServerLab(t, func(o *Options) { o.Forms, o.MaxSize = forms{}, 0 })
	var p paramsResponse
	l.ask("GET", pathParams+"?filename=a", "").read(t, &p)
	if p.Fields["max"] == "0" || p.Fields["max"] == "" {
		t.Errorf("at most %q bytes", p.Fields["max"])
	}
}

// What the store has against the service names the service's account: the client is told
// the code alone, and whoever looks after the service all of it.
func TestServerKeepsItsAccount(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`)
	l.Script(fault(wire.List, 403, "AccessDenied", ""))
	a := l.ask("GET", at(u, ""), "")
	var e errorResponse
	if json.Unmarshal([]byte(a.text), &e) != nil || e.Store == nil || e.Store.Code != "AccessDenied" || strings.Contains(a.text, "secret words") {
		t.Error(a.text)
	}
	if said := l.lastEvent().Error; !strings.Contains(said, "secret words") {
		t.Error(said)
	}
}

// An answer that took long says nothing of the clock.
func TestClientClockSlowAnswer(t *testing.T) {
	var c clock
	sent := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	got := sent.Add(8 * time.Minute)
	c.saw(http.Header{"Date": {got.Format(http.TimeFormat)}}, sent, got)
	if c.here(sent) != sent {
		t.Errorf("off by %v", sent.Sub(c.here(sent)))
	}
}

// Requests that were made ahead and have ended make room for others.
func TestClientAnticipateMakesRoom(t *testing.T) {
	d := newDesk(nil, time.Second, nil)
	for i := range maxReady {
		d.ready[strings.Repeat("x", i)] = made{margin: time.Second}
	}
	for id := range d.ready {
		m := d.ready[id]
		m.request.NotAfter = time.Now().Add(-time.Minute)
		d.ready[id] = m
	}
	d.queues[line{uploadID: "u"}] = nil // a call is under way
	p := somePart
	p.Bucket, p.Key, p.UploadID, p.ChecksumHeader = "", "", "u", ""
	d.anticipate(p)
	if len(d.ready) != 0 || len(d.open) != 1 {
		t.Errorf("%d ready, %d wanted", len(d.ready), len(d.open))
	}
}

// The sweep forgets what it has aborted, and not the create of the same name that was
// made meanwhile.
func TestServerForgetsOnlyTheSame(t *testing.T) {
	b := &book{entries: map[string]Entry{}, busy: map[string]struct{}{}, ledger: NewLedger()}
	old := Entry{ID: "x", UploadID: "old", Begun: time.Unix(1, 0)}
	now := old
	now.UploadID = "new"
	b.entries["x"] = now
	if err := b.dropSame(old); err != nil || b.entries["x"].UploadID != "new" {
		t.Errorf("%v, %+v", err, b.entries)
	}
}
