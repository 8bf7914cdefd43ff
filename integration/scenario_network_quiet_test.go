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
	upload := func(t *testing.T, o multipart.EndpointOptions, limits wire.Limits, size, partSize int64, rules ...rawstore.Rule) multipart.Result {
		small := int(min(partSize, 256*kib)) / 8 // so that it does not swallow the end of a small part
		l := newRawLab(t, limits, rawstore.Options{Rules: rules, ReadBuffer: small})
		l.endpoint, l.options.PartSize = o, partSize
		res := l.uploaded(t, check.Pattern(size))
		if want := int(size/partSize) + 2; res.Requests != want {
			t.Errorf("%d requests, want %d: create, the parts, complete", res.Requests, want)
		}
		return res
	}
	complete := func(do ...rawstore.Step) rawstore.Rule {
		return rawstore.Rule{Op: rawstore.Complete, Do: append([]rawstore.Step{rawstore.ReadAll()}, do...)}
	}
	four := multipart.EndpointOptions{Lanes: 4}
	together(t, map[string]func(*testing.T){
		"complete says nothing": func(t *testing.T) {
			upload(t, four, limits, 4*mib, mib, complete(rawstore.Wait(5*stall), rawstore.Reply()))
		},
		"complete says spaces": func(t *testing.T) {
			upload(t, four, limits, 4*mib, mib, complete(rawstore.Apply(),
				rawstore.Send("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n"),
				rawstore.Repeat(" ", 12, 500*time.Millisecond), rawstore.ReplyBody(), rawstore.Close()))
		},
		// Each lane's turn comes every two seconds, and its part takes four times
		// what its deadline allows. The clocks are looked at when the store holds
		// the last bytes up for a moment.
		"a limit of our own": func(t *testing.T) {
			thin := limits
			thin.MinRate, thin.Overhead = mib, time.Second
			res := upload(t, multipart.EndpointOptions{Lanes: 4, Bandwidth: 64 * kib}, thin, 512*kib, 128*kib, rawstore.Rule{
				Op: rawstore.PutPart,
				Do: []rawstore.Step{rawstore.Read(96*kib + 1), rawstore.Wait(stall / 2), rawstore.ReadAll(), rawstore.Reply()},
			})
			if res.Elapsed < 7*time.Second {
				t.Errorf("took %v at 64 KiB/s", res.Elapsed)
			}
		},
		"a part is answered late": func(t *testing.T) {
			upload(t, four, limits, 4*mib, mib, rawstore.Rule{Op: rawstore.PutPart,
				Do: []rawstore.Step{rawstore.ReadAll(), rawstore.Wait(3 * stall), rawstore.Reply()}})
		},
	})
}
