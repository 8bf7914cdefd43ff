package integration

import (
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// together runs subtests at the same time, for they mostly wait.
func together(t *testing.T, tests map[string]func(*testing.T)) {
	var wg sync.WaitGroup
	for name, f := range tests {
		wg.Go(func() { t.Run(name, f) })
	}
	wg.Wait()
}

// https://github.com/rclone/rclone/pull/9895: a watchdog of the throughput killed
// healthy uploads at their very end, where nothing moves because the store is at
// work, or a limit of the client's own holds the bytes back.
func TestR27PhasesInWhichNothingMoves(t *testing.T) {
	check.Leaks(t)
	const stall = time.Second
	limits := wire.Limits{Stall: stall, Answer: 3500 * time.Millisecond, Read: 2 * time.Second}
	upload := func(t *testing.T, o multipart.EndpointOptions, limits wire.Limits, parts int, partSize int64, s rawstore.Options) multipart.Result {
		l := newRawLab(t, limits, s)
		l.endpoint, l.options.PartSize = o, partSize
		res := l.uploaded(t, check.Pattern(int64(parts)*partSize))
		if want := parts + 3; res.Requests != want {
			t.Errorf("%d requests, want %d: create, the parts, complete, head", res.Requests, want)
		}
		return res
	}
	once := func(op rawstore.Op, do ...rawstore.Step) rawstore.Options {
		do = append([]rawstore.Step{rawstore.Welcome()}, do...)
		return rawstore.Options{Rules: []rawstore.Rule{{Op: op, Do: do}}}
	}
	four := multipart.EndpointOptions{Lanes: 4}
	together(t, map[string]func(*testing.T){
		"complete says nothing": func(t *testing.T) {
			upload(t, four, limits, 4, mib, once(rawstore.Complete, rawstore.ReadAll(), rawstore.Wait(5*stall), rawstore.Reply()))
		},
		"complete says spaces": func(t *testing.T) {
			res := upload(t, four, limits, 4, mib, once(rawstore.Complete, rawstore.ReadAll(), rawstore.Apply(),
				rawstore.Send("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n"),
				rawstore.Repeat(" ", 12, 500*time.Millisecond), rawstore.ReplyBody(), rawstore.Close()))
			if res.Elapsed < 6*time.Second {
				t.Errorf("after %v the answer was not waited for to its end", res.Elapsed)
			}
		},
		// A part takes five times what its deadline allows. The clocks are looked at
		// when the store holds its last bytes up for a moment.
		"a limit of our own": func(t *testing.T) {
			thin := limits
			thin.MinRate, thin.Overhead = mib, time.Second
			held := once(rawstore.PutPart, rawstore.Read(12*kib+1), rawstore.Wait(stall/2), rawstore.ReadAll(), rawstore.Reply())
			held.ReadBuffer = kib // so that it does not swallow the last bytes
			res := upload(t, multipart.EndpointOptions{Lanes: 8, Bandwidth: 16 * kib}, thin, 8, 16*kib, held)
			if res.Elapsed < 5*time.Second {
				t.Errorf("took %v at 16 KiB/s", res.Elapsed)
			}
		},
		"a part is answered late": func(t *testing.T) {
			upload(t, four, limits, 4, mib, once(rawstore.PutPart, rawstore.ReadAll(), rawstore.Wait(3*stall), rawstore.Reply()))
		},
	})
}
