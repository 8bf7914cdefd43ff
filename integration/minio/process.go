package minio

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// startTimeout bounds the time from exec to the first healthy answer.
const startTimeout = 60 * time.Second

// healthPath answers 200 when the server knows its configuration, users and
// drives. /minio/health/live does so before, when requests may still be judged
// by a wrong region.
// https://github.com/minio/minio/blob/7aac2a2c5b7c/cmd/healthcheck-handler.go
const healthPath = "/minio/health/cluster"

// process is the server's process.
type process struct {
	cmd    *exec.Cmd
	output *tail
	done   chan struct{} // closed when it has ended and was waited for
}

// launch runs the program on a free port over the folder dir and waits until
// it is healthy.
func launch(program, dir string, env []string) (*Server, error) {
	// The port is free when it is chosen, but not kept until the server takes
	// it. Losing that race three times in a row is another fault.
	var err error
	for range 3 {
		var s *Server
		if s, err = launchOnce(program, dir, env); err == nil {
			return s, nil
		}
		if !errors.Is(err, errEnded) {
			break
		}
	}
	return nil, err
}

func launchOnce(program, dir string, env []string) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, fmt.Errorf("minio: %w", err)
	}
	s := &Server{URL: "http://" + addr, AccessKey: rand.Text(), SecretKey: rand.Text()}
	cmd := exec.Command(program, "server", "--quiet", "--anonymous",
		"--address", addr, "--certs-dir", filepath.Join(dir, "certs"), filepath.Join(dir, "data"))
	cmd.Dir = dir
	cmd.Env = append(environ(dir, s), env...)
	if s.proc, err = start(cmd); err != nil {
		return nil, fmt.Errorf("minio: %w", err)
	}
	if err := s.proc.healthy(s.URL); err != nil {
		s.proc.kill()
		return nil, fmt.Errorf("%w; it printed:\n%s", err, s.proc.output.String())
	}
	return s, nil
}

// environ is all the server gets to see: nothing of the caller's, no console,
// nothing that would call home.
func environ(dir string, s *Server) []string {
	env := []string{
		"HOME=" + dir, "USERPROFILE=" + dir, "TMPDIR=" + dir,
		"MINIO_ROOT_USER=" + s.AccessKey, "MINIO_ROOT_PASSWORD=" + s.SecretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CALLHOME_ENABLE=off",
		"MINIO_CI_CD=on", // a data folder on the system's disk is all right
	}
	for _, name := range []string{"PATH", "SystemRoot", "TEMP", "TMP"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// start runs cmd such that it dies with this process where the system can see
// to that.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, output: &tail{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	dieWithParent(cmd)
	started := make(chan error)
	go func() {
		defer close(p.done)
		// Linux takes the thread that started it for the parent, so that
		// thread has to live as long (https://go.dev/issue/27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			// It is always killed: its exit status means nothing.
			_ = cmd.Wait()
		}
	}()
	return p, <-started
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	// An error means that it has ended already.
	_ = p.cmd.Process.Kill()
	<-p.done
}

var (
	errEnded  = errors.New("minio ended before it was healthy")
	errNotYet = fmt.Errorf("minio is not healthy after %v", startTimeout)
)

// healthy waits until the server says that it is.
func (p *process) healthy(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+healthPath, nil)
		if err != nil {
			return fmt.Errorf("minio: %w", err)
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.done:
			return errEnded
		case <-ctx.Done():
			return errNotYet
		case <-tick.C:
		}
	}
}
