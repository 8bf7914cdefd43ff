package main

import (
	"hash/maphash"
	"sync"
)

// claims tells whether two sources would become one object. It is safe for concurrent
// use.
//
// What is in one folder has as many keys as files, and none is remembered. Only where
// different files can come to one key (a destination that their folders are no part of, a
// list, several folders) are the keys, and of each no more than a hash that no two will
// share: about 30 bytes a file. To look into the folders again instead would miss what has
// been removed there since, and take A for a where the file system does.
type claims struct {
	named map[string]claim // by address: what is on the command line

	mu    sync.Mutex
	seen  map[[2]uint64]struct{} // nil: none need be
	seeds [2]maphash.Seed
}

// claim is what a source of the command line has of its destination.
type claim struct{ source, sha256 string } // no hash: the key needs none

// remember makes it look out for keys that come twice.
func (c *claims) remember() {
	c.seen = map[[2]uint64]struct{}{}
	c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
}

// take claims a job's destination, or says whose it is. A file with the bytes that another
// one's key was made from is there already, or will be: that is an *alreadyError. Without
// its hash a job is on the command line, where no two may have one key.
func (c *claims) take(j job, sha256 string) error {
	if first, taken := c.named[j.dest]; taken {
		if sha256 != "" && sha256 == first.sha256 {
			return &alreadyError{j}
		}
		return usagef("%s and %s would both become %s", show(first.source), show(j.source), show(j.dest))
	}
	if c.seen == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	twice := c.isTwice(j.dest)
	if sha256 != "" && c.isTwice(j.dest+"\x00"+sha256) {
		return &alreadyError{j}
	}
	if twice {
		return usagef("%s would become %s, which is another source's", show(j.source), show(j.dest))
	}
	return nil
}

// isTwice is called with the lock held.
func (c *claims) isTwice(text string) bool {
	sum := [2]uint64{maphash.String(c.seeds[0], text), maphash.String(c.seeds[1], text)}
	_, twice := c.seen[sum]
	c.seen[sum] = struct{}{}
	return twice
}

// alreadyError says that a source has the bytes and the key of another one.
type alreadyError struct{ job job }

func (e *alreadyError) Error() string {
	return show(e.job.source) + ": skipped: another source has the same bytes and is tried as " + show(e.job.dest)
}
