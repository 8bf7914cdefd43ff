package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// settle is how long goroutines and descriptors may take to go.
	settle = 2 * time.Second

	// slack is for descriptors that the Go runtime opens once for itself.
	slack = 2
)

// Leaks remembers the goroutines and file descriptors of the process, and
// fails the test if there are more when it ends, after the clean-ups that were
// registered later. Everything gets two seconds to go away. Descriptors are
// counted on Linux only, and two more than before are taken for the runtime's.
//
// Start what outlives the test before the call. It sees the whole process, so
// it is not for parallel tests.
func Leaks(t testing.TB) {
	t.Helper()
	before := descriptors()
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		t.Helper()
		if err := leaked(before, current); err != nil {
			t.Error(err)
		}
	})
}

// leaked returns nil as soon as nothing is left over, else what still is in
// the end.
func leaked(before []string, current goleak.Option) error {
	deadline := time.NewTimer(settle)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := goleak.Find(current)
		if err == nil {
			err = moreDescriptors(before, descriptors())
		}
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("check: left over after %v: %w", settle, err)
		case <-tick.C:
		}
	}
}

func moreDescriptors(before, after []string) error {
	if len(after) <= len(before)+slack {
		return nil
	}
	more := slices.DeleteFunc(slices.Clone(after), func(d string) bool { return slices.Contains(before, d) })
	return fmt.Errorf("%d file descriptors, %d before; new: %q", len(after), len(before), more)
}

// descriptors names the open file descriptors and what they lead to, or
// returns nothing where the system does not tell.
func descriptors() []string {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		// Fails for the descriptor of the directory itself, closed by now.
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			list = append(list, e.Name()+" "+to)
		}
	}
	return list
}
