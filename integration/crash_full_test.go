//go:build unix && full

package integration

import "testing"

// The same two hundred times, with larger files and five times in each window.
func TestCrashFull(t *testing.T) {
	crashes{rounds: 200, each: 5, most: 256 * mib, perSecond: 96 * mib}.run(t)
}
