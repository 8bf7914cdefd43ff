package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startTimeout bounds the time until a server says where it listens.
const startTimeout = time.Minute

// Server runs server.mjs of the folder, which lies beside one that is called node,
// with the packages that the folder's lock file names and with the env entries,
// NAME=value. It returns the address that the program prints, in a line of its own that
// begins with http://. The program ends with the test, or when its standard input does.
// What it prints is logged if the test fails.
func Server(t testing.TB, folder string, env ...string) string {
	t.Helper()
	cmd, err := command(folder)
	if err != nil {
		t.Fatal(err)
	}
	output := outputFile(t, cmd.String())
	lines, writer := io.Pipe()
	cmd.Env = append(environ(), env...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(output, writer), output
	// Held open and never written to: it ends with this process, however that ends.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	go scan(lines, address)
	go func() {
		defer close(ended)
		defer writer.Close()
		// It is always killed: its exit status means nothing.
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill() // an error means that it has ended already
		<-ended
	})
	select {
	case url, ok := <-address:
		if ok {
			return url
		}
		t.Fatalf("browser: %s ended before it had an address", cmd)
	case <-time.After(startTimeout):
		t.Fatalf("browser: %s had no address after %v", cmd, startTimeout)
	}
	return ""
}

// command is the folder's server, with all that it needs installed.
func command(folder string) (*exec.Cmd, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.Join(errNoNPM, err)
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	program, err := node(ctx, cache, filepath.Dir(folder), npm)
	if err != nil {
		return nil, err
	}
	dir, err := install(ctx, cache, folder, npm)
	if err != nil {
		return nil, fmt.Errorf("packages of %s: %w", folder, err)
	}
	cmd := exec.Command(program, "server.mjs")
	cmd.Dir = dir
	return cmd, nil
}

// scan sends the first line that is an address, then reads on and drops the rest. It
// closes the channel if there was none.
func scan(r io.Reader, address chan<- string) {
	defer close(address)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			address <- lines.Text()
			break
		}
	}
	_, _ = io.Copy(io.Discard, r) // ends when the program does
}

// environ is what a program gets to see of this process's environment.
func environ() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "SystemRoot", "TEMP", "TMP", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
