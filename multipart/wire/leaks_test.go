package wire_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// noLeaks fails the test if goroutines or descriptors are left when everything
// that is registered later has been cleaned up. They get two seconds to go, and
// the runtime may keep two descriptors of its own.
func noLeaks(t *testing.T) {
	current, before := goleak.IgnoreCurrent(), descriptors()
	t.Cleanup(func() {
		if err := goleak.Find(current); err != nil {
			t.Error(err)
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 100 {
			if descriptors() <= before+2 {
				return
			}
			<-tick.C
		}
		t.Errorf("%d descriptors, %d before", descriptors(), before)
	})
}

// descriptors counts the open ones where the system tells.
func descriptors() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
