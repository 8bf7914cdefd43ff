package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// inFlight is what the command has begun and not ended: uploads at the store,
// and the processes whose output goes up. It is for whoever does not wait for
// the end. It is safe for concurrent use, and its lock is never held while
// something is waited for. The zero value is empty.
type inFlight struct {
	mu      sync.Mutex
	uploads map[string]openUpload // by destination
	kills   map[int]func()
	next    int
}

// openUpload is an upload that is unfinished at the store.
type openUpload struct {
	dest, id string
	hints    hints
}

// began remembers an upload.
func (f *inFlight) began(u openUpload) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uploads == nil {
		f.uploads = map[string]openUpload{}
	}
	f.uploads[u.dest] = u
}

// ended forgets the upload to a destination.
func (f *inFlight) ended(dest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.uploads, dest)
}

// running remembers how a process is killed, until done is called.
func (f *inFlight) running(kill func()) (done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kills == nil {
		f.kills = map[int]func(){}
	}
	id := f.next
	f.next++
	f.kills[id] = kill
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.kills, id)
	}
}

// mostNamed is how many uploads are named in last words.
const mostNamed = 10

// abandon kills the processes and says which uploads stay at the store.
func (f *inFlight) abandon(w io.Writer) {
	f.mu.Lock()
	uploads, kills := slices.Collect(maps.Values(f.uploads)), slices.Collect(maps.Values(f.kills))
	f.mu.Unlock()
	for _, kill := range kills {
		kill()
	}
	slices.SortFunc(uploads, func(a, b openUpload) int { return strings.Compare(a.dest, b.dest) })
	for i, u := range uploads {
		if i == mostNamed {
			fmt.Fprintf(w, "chunkup: and %d more: see chunkup state ls and chunkup uploads ls\n", len(uploads)-i)
			return
		}
		fmt.Fprintf(w, "chunkup: interrupted twice: upload %s of %s is open at the store\n", u.id, show(u.dest))
		for _, line := range u.hints.lines() {
			fmt.Fprintln(w, line)
		}
	}
}
