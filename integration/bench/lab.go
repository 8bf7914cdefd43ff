package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lab is the place of a run: its programs and its files.
type lab struct {
	dir     string            // everything temporary
	self    string            // this program
	chunkup string            // built from the tree
	peers   map[string]string // s5cmd, rclone, mc, aws: where they are
	minio   string            // empty: there is none
	root    string            // of the repository

	build    string   // the commit that chunkup is built from
	versions []string // of the peers
}

// newLab builds chunkup and looks for the rest.
func newLab(ctx context.Context, dir string) (*lab, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if dir, err = os.MkdirTemp(dir, "chunkup-bench-"); err != nil {
		return nil, err
	}
	l := &lab{dir: dir, self: self, chunkup: filepath.Join(dir, "chunkup"), peers: findPeers(), minio: findMinio(), root: root, build: commit(ctx)}
	l.versions = versions(ctx, l.peers)
	build := exec.CommandContext(ctx, "go", "build", "-o", l.chunkup, "./cmd/chunkup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("chunkup does not build: %w\n%s", err, out), l.close())
	}
	return l, nil
}

// ready makes sure that all is there that the rows need.
func (l *lab) ready(chosen []row) error {
	if l.minio == "" && slices.ContainsFunc(chosen, func(r row) bool { return strings.HasPrefix(r.venue, "minio") }) {
		return errors.New("there is no MinIO: go test ./integration/minio builds one")
	}
	return nil
}

func (l *lab) close() error { return os.RemoveAll(l.dir) }

// findPeers looks for the programs in $BENCH_PEERS, then on the PATH.
func findPeers() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"s5cmd", "rclone", "mc", "aws"} {
		if dir := os.Getenv("BENCH_PEERS"); dir != "" {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				found[name] = path
				continue
			}
		}
		if path, err := exec.LookPath(name); err == nil {
			found[name] = path
		}
	}
	return found
}

// findMinio takes the server that the tests have built.
func findMinio() string {
	dir := os.Getenv("CHUNKUP_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(user, "chunkup")
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "minio-*", "minio")); len(found) > 0 { // the pattern is a good one
		return found[len(found)-1]
	}
	return ""
}

// source is the file, or the folder of files, that a row uploads. It is made when
// it is first asked for.
func (l *lab) source(r row) (string, error) {
	kind, make := "random", fill
	switch {
	case r.files > 0:
		kind = "folder-" + strconv.Itoa(r.files)
		make = func(path string, size int64) error { return folder(path, r.files, size) }
	case r.sparse:
		kind, make = "sparse", sparse
	}
	path := filepath.Join(l.dir, kind+"-"+strconv.FormatInt(r.size, 10))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, make(path, r.size)
}

// fill writes random bytes, which are in the page cache then.
func fill(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.Reader, size)
	return errors.Join(err, f.Close())
}

// sparse makes a file of zeros that takes no room.
func sparse(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// folder makes a folder of files, a hundred in each folder of it.
func folder(path string, files int, size int64) error {
	content := make([]byte, size)
	for i := range files {
		dir := filepath.Join(path, fmt.Sprintf("%04d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		_, _ = rand.Read(content) // it never fails
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.bin", i%100)), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
