package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chunkup/chunkup/integration/bench/child"
	"github.com/chunkup/chunkup/integration/bench/sink"
)

// The keys of every store, and the bucket.
const (
	accessKey = "benchmark"
	secretKey = "benchmarkbenchmark"
	bucket    = "bench"
	region    = "us-east-1"
)

// store is where the contestants upload to.
type store struct {
	url, ca string
	control string // of a sink; else empty
	objects string // the folder of its objects; empty with a sink
	process *child.Process
}

func (s *store) close() { s.process.Kill() }

// forget removes what was uploaded.
func (s *store) forget() error {
	if s.objects == "" {
		return nil
	}
	entries, err := os.ReadDir(s.objects)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.objects, e.Name())))
	}
	return err
}

// counters asks a sink.
func (s *store) counters(ctx context.Context) (c sink.Counters, err error) {
	if s.control == "" {
		return c, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.control+"/counters", nil)
	if err != nil {
		return c, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	return c, json.NewDecoder(resp.Body).Decode(&c)
}

// open starts the store of a row.
func (l *lab) open(ctx context.Context, r row, seed int) (*store, error) {
	switch r.venue {
	case "minio", "minio-tls":
		return l.openMinio(ctx, r.venue == "minio-tls")
	case "sandbox":
		return l.openSandbox()
	}
	return l.openSink(append([]string{"-seed", fmt.Sprint(seed)}, r.sink...), func(*exec.Cmd) {})
}

// openSink starts a sink; set changes the command before.
func (l *lab) openSink(flags []string, set func(*exec.Cmd)) (*store, error) {
	cmd := exec.Command(l.self, append([]string{"sink"}, flags...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+l.dir)
	set(cmd)
	line, process, err := firstLine(cmd)
	if err != nil {
		return nil, err
	}
	var at sinkPlace
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		process.Kill()
		return nil, fmt.Errorf("the sink says %q: %w", line, err)
	}
	return &store{url: at.URL, ca: at.CA, control: at.Control, process: process}, nil
}

// firstLine starts a program that lives until its standard input ends, and waits for
// the first line that it prints.
func firstLine(cmd *exec.Cmd) (string, *child.Process, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	if _, err := cmd.StdinPipe(); err != nil {
		return "", nil, errors.Join(err, in.Close())
	}
	cmd.Stdout = in
	process, err := child.Start(cmd)
	if err != nil {
		return "", nil, errors.Join(err, in.Close())
	}
	_ = in.Close() // the program has it
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		process.Kill()
		return "", nil, fmt.Errorf("%s did not start: %w\n%s", filepath.Base(cmd.Path), err, process.Output())
	}
	return line, process, nil
}

// openMinio starts MinIO, which keeps its objects in the run's folder.
func (l *lab) openMinio(ctx context.Context, secure bool) (*store, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(l.dir, "minio-")
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(dir, "data", bucket)
	if err := os.MkdirAll(objects, 0o700); err != nil {
		return nil, err
	}
	s := &store{url: "http://" + addr, objects: objects}
	certs := filepath.Join(dir, "certs")
	if secure {
		s.url = "https://" + addr
		if s.ca, err = certify(certs); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(l.minio, "server", "--quiet", "--anonymous", "--address", addr, "--certs-dir", certs, filepath.Join(dir, "data"))
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "MINIO_ROOT_USER=" + accessKey, "MINIO_ROOT_PASSWORD=" + secretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CALLHOME_ENABLE=off", "MINIO_CI_CD=on"}
	if s.process, err = child.Start(cmd); err != nil {
		return nil, err
	}
	if err := s.healthy(ctx, "/minio/health/cluster"); err != nil {
		s.close()
		return nil, fmt.Errorf("minio: %w\n%s", err, s.process.Output())
	}
	return s, nil
}

// healthy waits for the store to say that it is.
func (s *store) healthy(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client, err := s.web()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close() // only the status counts
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.process.Done():
			return errors.New("it has ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openSandbox starts the store that is in chunkup.
func (l *lab) openSandbox() (*store, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(l.dir, "sandbox-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(l.chunkup, "sandbox", "--listen", addr, "--dir", dir, "--access-key", accessKey, "--secret-key", secretKey, "--bucket", bucket)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	_, process, err := firstLine(cmd)
	if err != nil {
		return nil, err
	}
	return &store{url: "http://" + addr, objects: filepath.Join(dir, bucket), process: process}, nil
}

func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// at replaces the host of the sink's addresses, which listens on all of them.
func (s *store) at(host string) {
	for _, u := range []*string{&s.url, &s.control} {
		*u = "http://" + net.JoinHostPort(host, (*u)[strings.LastIndexByte(*u, ':')+1:])
	}
}
