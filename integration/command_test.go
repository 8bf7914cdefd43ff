package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/integration/check"
)

// command is the path of the command, built as users have it, without cgo and the race
// detector.
func command(t *testing.T) string {
	t.Helper()
	path, err := theCommand()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// theCommand builds it once for all tests: to link it takes longer than most of them.
var theCommand = sync.OnceValues(func() (string, error) {
	path := filepath.Join(ownDir, "chunkup")
	build := exec.Command("go", "build", "-o", path, module+"cmd/chunkup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// environment has the AWS variables of a store and nothing else of the
// machine's AWS settings.
func environment(t *testing.T, aws ...string) []string {
	return append(aws, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"), "AWS_EC2_METADATA_DISABLED=true", "AWS_REGION=us-east-1")
}

// upload uploads a file with the command and fails unless it says what it should
// and stays small.
func (c commandRun) upload(t *testing.T, dest string) {
	t.Helper()
	cmd := exec.Command(c.path, "cp", c.file, dest)
	cmd.Env = c.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watchMemory(t, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if kb := peak(); kb > 60<<10 {
		t.Errorf("peak resident memory %d kB, want at most 60 MiB", kb)
	}
	for _, want := range []string{"256 MiB", "32 parts", "/s", `etag "`, "crc64nvme"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q does not say %q", out.String(), want)
		}
	}
}

// watchMemory follows the peak resident memory of a process, in kB, until the
// function that it returns is called. What the system reports at the end of a
// child would not do: it counts the memory of the process that started it.
func watchMemory(t *testing.T, pid int) (peak func() int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return func() int { return 0 } // only Linux tells
	}
	highest := make(chan int)
	done := make(chan struct{})
	go func() {
		kb := 0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				kb = max(kb, residentPeak(pid))
			case <-done:
				highest <- kb
				return
			}
		}
	}()
	return func() int {
		close(done)
		kb := <-highest
		if kb == 0 {
			t.Error("the process was gone before its memory was seen")
		}
		return kb
	}
}

// residentPeak reads VmHWM, 0 if the process has ended.
func residentPeak(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kb int
	fmt.Sscan(after, &kb)
	return kb
}

type commandRun struct {
	path, file string
	env        []string
}

// The command uploads to a real store with ordinary AWS environment variables,
// and needs no more memory than a browser tab's icon.
func TestCommand(t *testing.T) {
	src := check.Pattern(256 * mib)
	c := commandRun{path: command(t), file: check.TempFile(t, src)}

	t.Run("to MinIO", func(t *testing.T) {
		s := store.Server(t)
		bucket := s.Bucket(t)
		c.env = environment(t, "AWS_ACCESS_KEY_ID="+s.AccessKey, "AWS_SECRET_ACCESS_KEY="+s.SecretKey, "AWS_ENDPOINT_URL_S3="+s.URL)
		c.upload(t, "s3://"+bucket+"/big")
		check.Equal(t, s.Client(), bucket, "big", src, src.Size())
		check.NoUploads(t, s.Client(), bucket, "big")
	})

	t.Run("to the sandbox in a process of its own", func(t *testing.T) {
		dir := t.TempDir()
		server := exec.Command(c.path, "sandbox", "--listen", "127.0.0.1:0", "--dir", dir, "--bucket", "demo")
		server.Env = environment(t)
		out, err := server.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			server.Process.Signal(os.Interrupt)
			if err := server.Wait(); err != nil {
				t.Errorf("the sandbox ended with %v", err)
			}
		}()
		c.env = environment(t)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
			c.env = append(c.env, name+"="+strings.Trim(value, "'"))
			if name == "AWS_ENDPOINT_URL_S3" {
				break // the last line
			}
		}
		c.upload(t, "s3://demo/big")
		stored, err := os.Open(filepath.Join(dir, "demo", "big"))
		if err != nil {
			t.Fatal(err)
		}
		defer stored.Close()
		got, err := chunker.Sum(stored, chunker.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := chunker.Sum(io.NewSectionReader(src, 0, src.Size()), chunker.SHA256); got != want {
			t.Errorf("the stored file is %v, want %v", got, want)
		}
	})
}
