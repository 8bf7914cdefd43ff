package integration

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart/wire"
)

// https://github.com/aws/aws-sdk-go/issues/2737: one reset, end or broken pipe
// failed an upload of hundreds of parts, because the request might have been
// processed.
func TestR07BrokenConnections(t *testing.T) {
	check.Leaks(t)
	t.Run("four lanes over TLS", func(t *testing.T) { broken(t, 4, true) })
	t.Run("one lane", func(t *testing.T) { broken(t, 1, false) })
}

// What broke a connection goes over a new one, although another is at hand that has
// carried a part to its end.
func TestR07ANewConnectionIsSafer(t *testing.T) {
	check.Leaks(t)
	slowly := func(part int) rawstore.Rule { // so that both are under way at once
		return rawstore.Rule{Op: rawstore.PutPart, Part: part, Do: []rawstore.Step{rawstore.ReadAll(), rawstore.Wait(100 * time.Millisecond), rawstore.Apply(), rawstore.Reply()}}
	}
	l := newRawLab(t, wire.Limits{}, rawstore.Options{Rules: []rawstore.Rule{slowly(1), slowly(2),
		{Op: rawstore.PutPart, Part: 3, Do: []rawstore.Step{rawstore.ReadAll(), rawstore.Wait(200 * time.Millisecond), rawstore.Reset()}}}})
	l.endpoint.Lanes, l.options.PartSize = 2, mib
	l.uploaded(t, check.Pattern(3*mib))
	first, second, third := l.store.Of(rawstore.PutPart, 1), l.store.Of(rawstore.PutPart, 2), l.store.Of(rawstore.PutPart, 3)
	if len(third) != 2 || third[0].Nth == 1 || third[1].Nth != 1 {
		t.Errorf("part 3: %+v", third)
	}
	if first[0].Conn == second[0].Conn {
		t.Error("there was no other connection")
	}
}

// reused resets the first connection that comes with a second part, but for those
// that have a fault of their own.
type reused struct {
	others []int

	mu     sync.Mutex
	seen   map[string]bool
	struck int // the part; 0: none yet
}

func (r *reused) strikes(q *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	part, _ := strconv.Atoi(q.URL.Query().Get("partNumber"))
	used := r.seen[q.RemoteAddr]
	r.seen[q.RemoteAddr] = true
	if !used || r.struck > 0 || slices.Contains(r.others, part) {
		return false
	}
	r.struck = part
	return true
}

// broken breaks the connection of five parts, each in its own way.
func broken(t *testing.T, lanes int, secure bool) {
	const parts = 16 // more than enough for one to come on a connection that was used
	once := func(part int, do ...rawstore.Step) rawstore.Rule {
		return rawstore.Rule{Op: rawstore.PutPart, Part: part, Do: do}
	}
	again := &reused{others: []int{2, 3, 4, 6}, seen: map[string]bool{}}
	l := newRawLab(t, wire.Limits{}, rawstore.Options{TLS: secure, Rules: []rawstore.Rule{
		once(2, rawstore.Read(3*mib), rawstore.Reset()),
		once(3, rawstore.ReadAll(), rawstore.Close()),
		once(4, rawstore.ReadAll(), rawstore.Send("HTTP/1.1 2"), rawstore.Close()),
		{Op: rawstore.PutPart, Match: again.strikes, Do: []rawstore.Step{rawstore.Reset()}},
		once(6, rawstore.ReadAll(), rawstore.Apply(), rawstore.Send("HTTP/1.1 200 OK\r\nDate: Sun, 0"), rawstore.Wait(50*time.Millisecond), rawstore.Reset()),
	}})
	l.endpoint.Lanes, l.options.PartSize = lanes, 4*mib
	res := l.uploaded(t, check.Pattern(parts*4*mib))
	if res.Attempts != parts+5 || res.Retries != 5 || again.struck == 0 {
		t.Errorf("%d attempts, %d of them again (part %d on a used connection): want %d and 5", res.Attempts, res.Retries, again.struck, parts+5)
	}
	for part := 1; part <= parts; part++ {
		seen := l.store.Of(rawstore.PutPart, part)
		want := 1
		if part == again.struck || slices.Contains(again.others, part) {
			want = 2
		}
		if len(seen) != want {
			t.Errorf("%d requests for part %d, want %d", len(seen), part, want)
		} else if want == 2 && (seen[1].Conn == seen[0].Conn || seen[1].Nth != 1) {
			t.Errorf("part %d came again on a connection that was used before", part)
		}
	}
	breakerStayedClosed(t, l.used, l.events)
}
