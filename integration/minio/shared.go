package minio

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is one server for all tests of a package. Its zero value is ready:
//
//	var store minio.Shared
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		store.Stop()
//		os.Exit(code)
//	}
//
// It is safe for concurrent use.
type Shared struct {
	mu     sync.Mutex
	server *Server
	dir    string
	err    error
}

// Server starts the server when it is first called, and after Stop; it fails
// the test if that fails or has failed before. Call it before a check that
// compares goroutines or descriptors of before and after.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		// Set if binary ends the test in mid-air.
		s.err = errors.New("minio did not start for an earlier test")
		s.err = s.start(binary(t))
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	server := s.server
	t.Cleanup(func() { server.logTo(t) })
	return server
}

func (s *Shared) start(program string) (err error) {
	if s.dir, err = os.MkdirTemp("", "chunkup-minio-"); err != nil {
		return fmt.Errorf("minio: %w", err)
	}
	s.server, err = launch(program, s.dir, nil)
	return err
}

// Stop kills the server, if it runs, and removes its data.
func (s *Shared) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		s.server.proc.kill()
	}
	// Leftovers in the system's temporary folder harm nobody.
	_ = os.RemoveAll(s.dir)
	s.server, s.dir, s.err = nil, "", nil
}
