package child

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Usage is what a program took.
type Usage struct {
	Wall time.Duration
	CPU  time.Duration // in user mode and in the kernel
	Peak int64         // bytes that were resident at most; 0: the system does not tell

	Capped bool   // it was killed: its time was up
	Err    error  // it failed, or was killed
	Output string // the end of what it printed
}

// Process is a program that runs. Get one from Start.
type Process struct {
	cmd    *exec.Cmd
	output tail
	done   chan struct{}
	err    error
}

// Start starts a program, whose output is kept unless cmd says where it goes.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.output
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.output
	}
	// Whoever holds the output open after the program has ended is not waited for.
	cmd.WaitDelay = time.Second
	isolate(cmd)
	started := make(chan error)
	go func() {
		defer close(p.done)
		// Linux takes the thread that started it for the parent, so that thread has
		// to live as long (https://go.dev/issue/27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the program and all of its group, and waits until it is gone.
func (p *Process) Kill() {
	killGroup(p.cmd)
	<-p.done
}

// Output is the end of what it has printed.
func (p *Process) Output() string { return p.output.String() }

// CPU is what it has taken of the processor. It must have ended.
func (p *Process) CPU() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// every is how often the memory is looked at. The kernel keeps the maximum; only
// what grows in the last moments is missed.
const every = 5 * time.Millisecond

// Run runs a program to its end, or for at most limit.
func Run(ctx context.Context, cmd *exec.Cmd, limit time.Duration) Usage {
	begin := time.Now()
	p, err := Start(cmd)
	if err != nil {
		return Usage{Err: err}
	}
	var u Usage
	timer, tick := time.NewTimer(limit), time.NewTicker(every)
	defer timer.Stop()
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-p.done:
			ended = true
		case <-tick.C:
			u.Peak = max(u.Peak, peak(p.Pid()))
		case <-timer.C:
			u.Capped, ended = true, true
		case <-ctx.Done():
			ended = true
		}
	}
	u.Wall = time.Since(begin)
	p.Kill()
	u.CPU, u.Err, u.Output = p.CPU(), p.err, p.Output()
	switch {
	case u.Capped:
		u.Err = fmt.Errorf("killed after %v", limit)
	case ctx.Err() != nil:
		u.Err = ctx.Err()
	}
	return u
}

// tail keeps the end of what is written. Its zero value is ready.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const tailSize = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p)
	if t.b.Len() > 2*tailSize {
		t.b.Next(t.b.Len() - tailSize)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
