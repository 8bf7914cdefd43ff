package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/presign/mint"
)

// secretSize is that of the secret which seals upload ids, in bytes.
const secretSize = 32

// mintState is what a service has to know after a restart, in a folder that it alone
// uses.
type mintState struct {
	secret []byte
	ledger mint.Ledger
	lock   *flock.Flock // nil: it is kept in memory
}

// openMintState opens the folder of the service for a bucket. Without a home folder
// the state ends with the process, which the warning says.
func (f *mintFlags) openMintState(getenv func(string) string, endpoint string) (s *mintState, warning, err error) {
	dir, err := f.state.journals(getenv)
	if errors.Is(err, errNoHome) {
		s = &mintState{secret: newSecret(), ledger: mint.NewLedger()}
		return s, fmt.Errorf("%w: uploads that are unfinished when the service ends cannot go on (name a folder with --state-dir)", err), nil
	}
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256([]byte(endpoint + "\n" + f.bucket))
	s, err = openStateFolder(filepath.Join(dir.Path(), "mint", hex.EncodeToString(sum[:8])))
	return s, nil, err
}

func openStateFolder(dir string) (*mintState, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, usagef("--state-dir: %w: name another", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("--state-dir: %w", err)
	case !locked:
		return nil, fmt.Errorf("another chunkup mint serves this bucket and has %s in use: give this one another --state-dir", show(dir))
	}
	s := &mintState{lock: lock}
	if s.secret, err = readSecret(filepath.Join(dir, "secret")); err == nil {
		s.ledger, err = mint.OpenLedger(filepath.Join(dir, "ledger"))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close lets another process use the folder.
func (s *mintState) close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Unlock()
}

func newSecret() []byte {
	secret := make([]byte, secretSize)
	rand.Read(secret)
	return secret
}

// readSecret reads the service's own secret, or makes it.
func readSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSecret(path)
	}
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(string(text))
	if err != nil || len(secret) != secretSize {
		return nil, fmt.Errorf("%s is not the secret that was kept there: remove it to go on without the uploads that are unfinished", show(path))
	}
	return secret, nil
}

// makeSecret writes a secret that only this user can read, all of it or nothing.
func makeSecret(path string) (secret []byte, err error) {
	secret = newSecret()
	return secret, journal.Replace(path, "secret-", []byte(hex.EncodeToString(secret)))
}
