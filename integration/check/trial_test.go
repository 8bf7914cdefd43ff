package check

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// trial is a test that may fail without failing the test around it.
type trial struct {
	testing.TB
	mu       sync.Mutex
	log      strings.Builder
	failed   bool
	cleanups []func()
}

// try runs f as a test and returns what it complained of, "" if it passed.
func try(t *testing.T, f func(testing.TB)) string {
	tr := &trial{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(tr)
	}()
	<-done
	for len(tr.cleanups) > 0 {
		last := len(tr.cleanups) - 1
		c := tr.cleanups[last]
		tr.cleanups = tr.cleanups[:last]
		c()
	}
	if !tr.failed {
		return ""
	}
	return tr.log.String()
}

func (tr *trial) Helper() {}

func (tr *trial) Cleanup(f func()) { tr.cleanups = append(tr.cleanups, f) }

func (tr *trial) Failed() bool { return tr.failed }

func (tr *trial) Logf(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	fmt.Fprintf(&tr.log, format+"\n", args...)
}

func (tr *trial) Error(args ...any) { tr.Errorf("%s", fmt.Sprintln(args...)) }

func (tr *trial) Errorf(format string, args ...any) {
	tr.Logf(format, args...)
	tr.failed = true
}

func (tr *trial) Fatalf(format string, args ...any) {
	tr.Errorf(format, args...)
	runtime.Goexit()
}

// want fails the test unless the complaint has the text; "" stands for none.
func want(t *testing.T, complaint, text string) {
	t.Helper()
	if (complaint == "") != (text == "") || !strings.Contains(complaint, text) {
		t.Errorf("the check said %q, want %q", complaint, text)
	}
}
