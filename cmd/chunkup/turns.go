package main

import "sync"

const (
	fewestFiles = 4
	mostFiles   = 320
	mostAhead   = 64 // parts that are ready and wait for a lane
)

// crew uploads files, some at a time, each in a goroutine that takes the next one when it
// is done: its stack has grown to what an upload needs, and copying it each time would
// cost a small file a tenth of its work. Its methods are for one goroutine.
type crew struct {
	turns   *turns
	upload  func(job)
	parts   func(job) int
	jobs    chan job
	members sync.WaitGroup
}

func newCrew(t *turns, upload func(job), parts func(job) int) *crew {
	return &crew{turns: t, upload: upload, parts: parts, jobs: make(chan job)}
}

// give waits for the job's turn, and has it uploaded.
func (c *crew) give(j job) {
	c.turns.enter(c.parts(j))
	select {
	case c.jobs <- j: // somebody has nothing to do
	default:
		c.members.Go(func() {
			for ok := true; ok; j, ok = <-c.jobs {
				c.upload(j)
				c.turns.leave(c.parts(j))
			}
		})
	}
}

// wait returns when all is uploaded that was given.
func (c *crew) wait() {
	close(c.jobs)
	c.members.Wait()
}

// turns lets files go up, some at a time. It is safe for concurrent use.
type turns struct {
	most  int        // files; 0: as many as it takes to have work for all lanes
	lanes func() int // that there are now

	mu    sync.Mutex
	left  sync.Cond
	files int // under way
	parts int // theirs
}

func newTurns(most int, lanes func() int) *turns {
	t := &turns{most: most, lanes: lanes}
	t.left.L = &t.mu
	return t
}

// enter waits until there is room for a file of so many parts, and takes it.
func (t *turns) enter(parts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.hasRoom() {
		t.left.Wait()
	}
	t.files++
	t.parts += parts
}

// leave gives the room back.
func (t *turns) leave(parts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files--
	t.parts -= parts
	t.left.Signal() // there is one who waits
}

// hasRoom lets another file in while those under way have a part for each lane, and for
// most lanes one that waits for it. How many lanes there are is found
// out by what waits for them: with no more small files than lanes they would never grow.
func (t *turns) hasRoom() bool {
	switch {
	case t.most > 0:
		return t.files < t.most
	case t.files < fewestFiles:
		return true
	}
	lanes := t.lanes()
	return t.files < mostFiles && t.parts < lanes+min(lanes, mostAhead)
}
