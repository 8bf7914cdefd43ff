package browser

import (
	"os"
	"path/filepath"
	"testing"
)

// outputFile takes what the named program prints. It is logged when the test has
// failed, after the clean-ups that are registered later.
func outputFile(t testing.TB, program string) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		file.Close()
		if !t.Failed() {
			return
		}
		text, err := os.ReadFile(file.Name())
		t.Logf("output of %s: %v\n%s", program, err, text)
	})
	return file
}
