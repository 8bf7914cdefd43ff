package minio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// The test binary also plays the programs that it runs: ROLE says which.
func TestMain(m *testing.M) {
	switch os.Getenv("ROLE") {
	case "":
		os.Exit(m.Run())
	case "go":
		fakeGo()
	case "broken":
		fmt.Println("I refuse to serve")
		os.Exit(1)
	case "parent":
		parent()
	}
}

// fakeGo notes that it was called and builds once the gate is open.
func fakeGo() {
	log, err := os.OpenFile(os.Getenv("CALLS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(log, strings.Join(os.Args[1:], " "), os.Getenv("CGO_ENABLED"), os.Getenv("GOFLAGS"))
	log.Close()
	if os.Getenv("GATE") == "" {
		fmt.Println("no required module provides package")
		os.Exit(1)
	}
	awaitFile(os.Getenv("GATE"))
	name := filepath.Join(os.Getenv("GOBIN"), program())
	if err := os.WriteFile(name, []byte("built"), 0o700); err != nil {
		panic(err)
	}
}

func awaitFile(path string) {
	for range time.Tick(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

func TestServerKeepsObjects(t *testing.T) {
	var s *Server
	t.Run("while the test runs", func(t *testing.T) {
		s = Start(t)
		client, bucket, key := s.Client(), s.Bucket(t), "a+b c/ü"
		if other := s.Bucket(t); other == bucket {
			t.Errorf("two buckets are named %s", bucket)
		}
		in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("hello")}
		if _, err := client.PutObject(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		defer out.Body.Close()
		if got, err := io.ReadAll(out.Body); string(got) != "hello" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	if s.proc.cmd.ProcessState == nil {
		t.Error("the process was not waited for")
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")); err == nil {
		c.Close()
		t.Error("the server outlived its test")
	}
}

func TestSharedServerIsOneUntilStopped(t *testing.T) {
	var shared Shared
	first, again := shared.Server(t), shared.Server(t)
	if first != again {
		t.Error("the second call started another server")
	}
	dir := shared.dir
	shared.Stop()
	if first.proc.cmd.ProcessState == nil {
		t.Error("Stop left the process")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stop left the data: %v", err)
	}
	shared.Stop() // harmless
}

func TestStartPassesEnvironment(t *testing.T) {
	s := Start(t, "MINIO_SITE_REGION=eu-north-1")
	bucket := "region"
	_, err := s.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || !strings.Contains(api.ErrorMessage(), "eu-north-1") {
		t.Errorf("a client of %s got %v", Region, err)
	}
}

func TestServerThatEndsIsReported(t *testing.T) {
	_, err := launch(self(t), t.TempDir(), []string{"ROLE=broken"})
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "I refuse to serve") {
		t.Errorf("got %v", err)
	}
	if _, err := launch(filepath.Join(t.TempDir(), "none"), t.TempDir(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
}

func TestServerDiesWithTestBinary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends it")
	}
	cmd := exec.CommandContext(t.Context(), self(t))
	cmd.Env = append(os.Environ(), "ROLE=parent", "PROGRAM="+binary(t), "DIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !exists(pid) {
		t.Fatalf("process %d does not exist while its parent lives", pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for exists(pid) {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d is alive", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// parent starts a server, tells its process id and waits to be killed.
func parent() {
	s, err := launch(os.Getenv("PROGRAM"), os.Getenv("DIR"), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.proc.cmd.Process.Pid)
	select {}
}

// exists tells whether a process runs; one that nobody has waited for yet does
// not.
func exists(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("Z"))
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTailKeepsTheEnd(t *testing.T) {
	var out tail
	for i := range 3 * tailSize / 8 {
		fmt.Fprintf(&out, "%07d\n", i)
	}
	got := out.String()
	if len(got) > tailSize || len(got) < tailSize-8 || !strings.HasSuffix(got, fmt.Sprintf("%07d", 3*tailSize/8-1)) {
		t.Errorf("%d bytes, ends with %q", len(got), got[max(0, len(got)-20):])
	}
}
