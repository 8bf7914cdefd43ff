package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestInFlight(t *testing.T) {
	var f inFlight
	var b strings.Builder
	f.abandon(&b)
	if b.Len() != 0 {
		t.Errorf("nothing had begun: %q", b.String())
	}
	killed := ""
	f.began(openUpload{"s3://bucket/b", "U2", hints{abort: []string{"chunkup", "uploads", "abort", "s3://bucket/b", "--upload-id", "U2"}}})
	f.began(openUpload{"s3://bucket/a", "U1", hints{}})
	f.began(openUpload{"s3://bucket/c", "U3", hints{}})
	f.ended("s3://bucket/c")
	f.running(func() { killed += "one" })
	f.running(func() { killed += "two" })()
	f.abandon(&b)
	want := "chunkup: interrupted twice: upload U1 of s3://bucket/a is open at the store\n" +
		"chunkup: interrupted twice: upload U2 of s3://bucket/b is open at the store\n" +
		"abort:  chunkup uploads abort s3://bucket/b --upload-id U2\n"
	if b.String() != want || killed != "one" {
		t.Errorf("killed %s, said %q, want %q", killed, b.String(), want)
	}
}

// Of very many not all are named.
func TestInFlightNamesFew(t *testing.T) {
	var f inFlight
	var b strings.Builder
	for i := range mostNamed + 3 {
		f.began(openUpload{dest: fmt.Sprintf("s3://bucket/%02d", i), id: "U"})
	}
	f.abandon(&b)
	if said := b.String(); strings.Count(said, "\n") != mostNamed+1 || !strings.HasSuffix(said, "chunkup: and 3 more: see chunkup state ls and chunkup uploads ls\n") {
		t.Errorf("said %q", said)
	}
}

// Whoever ends the process reads it while uploads begin and end.
func TestInFlightIsShared(t *testing.T) {
	var f inFlight
	var wg sync.WaitGroup
	for _, dest := range []string{"a", "b", "c"} {
		wg.Go(func() {
			for range 100 {
				f.began(openUpload{dest: dest})
				done := f.running(func() {})
				f.abandon(&strings.Builder{})
				done()
				f.ended(dest)
			}
		})
	}
	wg.Wait()
	if len(f.uploads)+len(f.kills) != 0 {
		t.Errorf("left: %v, %d", f.uploads, len(f.kills))
	}
}
