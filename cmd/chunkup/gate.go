package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/chunkup/chunkup/presign/mint"
)

// authenticator says who makes a request.
type authenticator = func(*http.Request) (mint.Caller, error)

// A token file is looked at again this often, and what it has become counts once it
// has been left alone for so long: half of it may be there before.
const (
	lookEvery = time.Second
	settled   = time.Second
)

// gate lets those in whose token is in a file. When the file changes it is read again;
// one that makes no sense changes nothing. It is safe for concurrent use.
type gate struct {
	path   string
	prefix string
	secret []byte
	warn   func(error)

	mu     sync.Mutex
	check  authenticator
	seen   os.FileInfo // the file that check is of, or that made no sense
	looked time.Time
}

// newGate reads the file, which must have a token. A usage error says what is wrong
// with it.
func newGate(path, prefix string, secret []byte, warn func(error)) (*gate, error) {
	g := &gate{path: path, prefix: prefix, secret: secret, warn: warn, looked: time.Now()}
	n, err := g.read()
	switch {
	case err != nil:
		return nil, usagef("--token-file: %w", err)
	case n == 0:
		return nil, usagef("--token-file: %s has no token", show(path))
	}
	return g, nil
}

// authenticate says whose token a request has.
func (g *gate) authenticate(r *http.Request) (mint.Caller, error) {
	return g.current()(r)
}

func (g *gate) current() authenticator {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.looked) < lookEvery {
		return g.check
	}
	g.looked = time.Now()
	info, err := os.Stat(g.path)
	switch {
	case err != nil && g.seen == nil, err == nil && g.seen != nil && isSame(info, g.seen):
		return g.check // nothing new
	case err == nil && isRecent(info.ModTime()):
		return g.check // not yet
	case err == nil:
		_, err = g.read()
	default:
		g.seen = nil
	}
	if err != nil {
		g.warn(fmt.Errorf("--token-file: %w: the tokens from before still count", err))
	}
	return g.check
}

// read takes over what is in the file, and says how many tokens there are.
func (g *gate) read() (int, error) {
	info, err := os.Stat(g.path)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(g.path)
	if err != nil {
		return 0, err // and it is read again when somebody looks next
	}
	g.seen = info
	grants, err := parseTokens(string(text), g.prefix)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", show(g.path), err)
	}
	g.check = mint.Bearer(callers(grants, g.secret))
	warnIfOpen(g.path, info, g.warn)
	return len(grants), nil
}

// isSame tells a file that nobody has touched from another one under its name.
func isSame(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func isRecent(t time.Time) bool {
	age := time.Since(t)
	return age >= 0 && age < settled
}

// warnIfOpen says that a secret can be read by everybody on the machine.
func warnIfOpen(path string, info os.FileInfo, warn func(error)) {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 {
		warn(fmt.Errorf("everybody on this machine can read %s: chmod 600 it", show(path)))
	}
}

// local lets everybody in who calls the service by an address of this machine. A web
// page can have its own name point here, and would be of the service's origin then.
func local(r *http.Request) (mint.Caller, error) {
	if !isLoopback(r.Host) {
		return mint.Caller{}, errors.New("the service was called by another name than this machine has for itself")
	}
	return mint.Caller{Name: "anyone"}, nil
}

// either lets those in whom one of the two knows.
func either(first, second authenticator) authenticator {
	return func(r *http.Request) (mint.Caller, error) {
		if c, err := first(r); err == nil {
			return c, nil
		}
		return second(r)
	}
}

// confined keeps what callers may choose below the prefix. Those who may choose nothing
// get all of it if choose is true.
func confined(check authenticator, prefix string, choose bool) authenticator {
	return func(r *http.Request) (mint.Caller, error) {
		c, err := check(r)
		switch {
		case err != nil:
			return mint.Caller{}, err
		case c.Prefix == "" && choose:
			c.Prefix = prefix
		case c.Prefix != "" && !strings.HasPrefix(c.Prefix, prefix):
			return mint.Caller{}, fmt.Errorf("the ticket of %s is for keys below %s, which is not below --prefix", show(c.Name), show(c.Prefix))
		}
		return c, nil
	}
}
