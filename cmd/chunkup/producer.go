package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// grace is how long a command that is told to end may take for it before it is
// killed. Whoever has interrupted is waiting.
const grace = time.Second

// hearsay is how much later than the command we may hear of an interrupt.
const hearsay = 100 * time.Millisecond

// producer is a command whose standard output is read. Its end is part of what
// is read: after a failure there is an error in place of io.EOF, so that half
// an output is never taken for the whole.
type producer struct {
	ctx  context.Context // the upload's
	cmd  *exec.Cmd
	out  *os.File // what it writes comes out here
	name string

	ended  chan struct{} // it was waited for
	status error         // how it ended; read it after ended

	stopping sync.Once
	forget   func()
}

// producerError says how a command ended that did not end well.
type producerError struct {
	command string
	err     error // an *exec.ExitError as a rule
}

func (e *producerError) Error() string {
	if exit, ok := errors.AsType[*exec.ExitError](e.err); ok {
		return fmt.Sprintf("command %s ended with %v: what it wrote is not an object", show(e.command), exit)
	}
	return fmt.Sprintf("command %s: %v", show(e.command), e.err)
}

func (e *producerError) Unwrap() error { return e.err }

// startProducer starts a command. When ctx ends, so does the command.
func startProducer(ctx context.Context, e env, words []string) (*producer, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &producer{ctx: ctx, cmd: exec.Command(words[0], words[1:]...), out: out, name: words[0], ended: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = e.stdin, in, e.stderr
	// What it leaves behind may hold its standard error open for ever.
	p.cmd.WaitDelay = grace
	apart(p.cmd, e.terminal)
	err = p.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	p.forget = e.begun.running(func() { kill(p.cmd) })
	go p.wait()
	go func() {
		select {
		case <-ctx.Done():
			p.end()
		case <-p.ended:
		}
	}()
	return p, nil
}

func (p *producer) wait() {
	defer close(p.ended)
	err := p.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well
	}
	if err != nil {
		p.status = &producerError{p.name, err}
	}
}

// Read implements io.Reader. io.EOF means that the command has ended well.
func (p *producer) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if err == io.EOF {
		<-p.ended
		if p.status != nil {
			err = p.why()
		}
	}
	return n, err
}

// why is what a command that ended badly ended of. An interrupt from the keyboard
// reaches it as well, and may end it before we have heard of it ourselves.
func (p *producer) why() error {
	select {
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	case <-time.After(hearsay):
		return p.status
	}
}

// end tells the command to end, and kills it after a while.
func (p *producer) end() {
	p.stopping.Do(func() {
		terminate(p.cmd)
		select {
		case <-p.ended:
		case <-time.After(grace):
		}
		kill(p.cmd) // and what it has left behind
	})
}

// stop ends the command if it runs still. Nothing reads from it any more.
func (p *producer) stop() {
	select {
	case <-p.ended:
	default:
		p.end()
	}
	<-p.ended
	p.forget()
	p.out.Close()
}
