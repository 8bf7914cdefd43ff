package integration

import (
	"slices"
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
	t.Run("one lane", func(t *testing.T) {
		// One after the other, so that part 8 meets its reset on a connection that
		// was used before, unless it comes right after a retry.
		for range 5 {
			if r := broken(t, 1, false).store.Of(rawstore.PutPart, 8)[0]; r.Nth > 1 {
				return
			}
		}
		t.Error("part 8 came on a connection that was new, each time")
	})
}

// broken breaks the connection of five parts, each in its own way.
func broken(t *testing.T, lanes int, secure bool) *rawLab {
	once := func(part int, do ...rawstore.Step) rawstore.Rule {
		return rawstore.Rule{Op: rawstore.PutPart, Part: part, Do: do}
	}
	l := newRawLab(t, wire.Limits{}, rawstore.Options{TLS: secure, Rules: []rawstore.Rule{
		once(2, rawstore.Read(3*mib), rawstore.Reset()),
		once(3, rawstore.ReadAll(), rawstore.Close()),
		once(4, rawstore.ReadAll(), rawstore.Send("HTTP/1.1 2"), rawstore.Close()),
		once(8, rawstore.Reset()),
		once(6, rawstore.ReadAll(), rawstore.Apply(), rawstore.Send("HTTP/1.1 200 OK\r\nDate: Sun, 0"), rawstore.Wait(50*time.Millisecond), rawstore.Reset()),
	}})
	l.endpoint.Lanes, l.options.PartSize = lanes, 4*mib
	res := l.uploaded(t, check.Pattern(32*mib))
	if res.Attempts != 8+5 || res.Retries != 5 {
		t.Errorf("%d attempts, %d of them again: want 13 and 5", res.Attempts, res.Retries)
	}
	for part := 1; part <= 8; part++ {
		seen := l.store.Of(rawstore.PutPart, part)
		want := 1
		if slices.Contains([]int{2, 3, 4, 6, 8}, part) {
			want = 2
		}
		if len(seen) != want {
			t.Errorf("%d requests for part %d, want %d", len(seen), part, want)
		} else if want == 2 && (seen[1].Conn == seen[0].Conn || seen[1].Nth != 1) {
			t.Errorf("part %d came again on a connection that was used before", part)
		}
	}
	breakerStayedClosed(t, l.used, l.events)
	return l
}
