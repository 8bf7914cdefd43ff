//go:build unix

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
)

// jsonLine is what the tests look at of a JSON line.
type jsonLine struct {
	Type       string  `json:"type"`
	Op         string  `json:"op"`
	Part       int     `json:"part"`
	Class      string  `json:"class"`
	Error      string  `json:"error"`
	Done       int64   `json:"done"`
	BudgetLeft float64 `json:"budget_left"`
	Exit       int     `json:"exit"`
}

// A laptop is closed in the middle of an upload and opened again, for longer than
// any deadline lasts. What was under way is made again at once, and nobody is
// blamed for it.
func TestSuspend(t *testing.T) {
	const (
		size    = 48 * mib
		stopped = 8 * time.Second
	)
	server := store.Server(t)
	bucket := server.Bucket(t)
	src := check.Pattern(size)
	path, file := command(t), check.TempFile(t, src)
	check.Leaks(t)
	proxy, err := faultproxy.Start(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	proxy.Limit(12 * mib)

	// A part needs 3 s and is given 11, so that 8 more would be too many.
	cmd := exec.Command(path, "cp", "--json", "-c4", "--part-size=8MiB", "--stall-timeout=3s", "--answer-timeout=5s",
		"--min-rate=4MiB/s", "--overhead=3s", file, "s3://"+bucket+"/key")
	cmd.Env = environment(t, "AWS_ACCESS_KEY_ID="+server.AccessKey, "AWS_SECRET_ACCESS_KEY="+server.SecretKey, "AWS_ENDPOINT_URL_S3="+proxy.URL())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := follow(t, stdout, func(l jsonLine) bool { return l.Type == "progress" && l.Done > size/3 }, func() {
		signal(t, cmd, syscall.SIGSTOP)
		<-time.After(stopped)
		signal(t, cmd, syscall.SIGCONT)
	})
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	check.Equal(t, server.Client(), bucket, "key", src, size)
	check.NoUploads(t, server.Client(), bucket, "key")
	nobodyBlamed(t, lines)
}

func signal(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	if err := cmd.Process.Signal(s); err != nil {
		t.Errorf("%v: %v", s, err)
	}
}

// follow reads JSON lines to their end, and does something once, when the first
// comes that is meant.
func follow(t *testing.T, from io.Reader, meant func(jsonLine) bool, do func()) (lines []jsonLine) {
	in := bufio.NewScanner(from)
	for in.Scan() {
		var l jsonLine
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Errorf("%q: %v", in.Text(), err)
		}
		lines = append(lines, l)
		if do != nil && meant(l) {
			do()
			do = nil
		}
	}
	if in.Err() != nil || do != nil {
		t.Errorf("the output ended with %v before it was time", in.Err())
	}
	return lines
}

// nobodyBlamed fails the test unless every attempt went well or ended by the
// sleep, the budget is full, and the breaker took no part.
func nobodyBlamed(t *testing.T, lines []jsonLine) {
	t.Helper()
	slept := 0
	for _, l := range lines {
		switch {
		case l.Type == "breaker":
			t.Error("the breaker took part")
		case l.Type == "attempt" && l.Class == "retry" && strings.Contains(l.Error, "suspended"):
			slept++
		case l.Type == "attempt" && l.Class != "done":
			t.Errorf("%s %d: %s: %s", l.Op, l.Part, l.Class, l.Error)
		}
	}
	t.Logf("%d attempts slept", slept)
	if slept == 0 {
		t.Error("no attempt was under way in the sleep")
	}
	if last := lines[len(lines)-1]; last.Type != "summary" || last.Exit != 0 || last.BudgetLeft != 10 {
		t.Errorf("summary %+v, want all 10 retries left", last)
	}
}
