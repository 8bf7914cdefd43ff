// Package sandbox runs an S3 store inside this process, over a local folder,
// so that uploads can be tried without an account and without a server.
//
// Call [Start], hand [Server.URL] and the keys to any S3 client (or print
// [Server.Environment]), and [Server.Close] at the end:
//
//	s, err := sandbox.Start(ctx, sandbox.Options{Buckets: []string{"demo"}})
//	if err != nil { … }
//	defer s.Close()
//
// The object demo/dir/big is the plain file Dir/demo/dir/big. What a file
// cannot hold (ETag, checksums, metadata) is kept beside the buckets, in
// Dir/.chunkup. Parts of unfinished uploads wait in Dir/BUCKET/.sgwtmp, which
// is gone once nothing is unfinished and the server is closed. All of it
// outlives the process: a later Start on the same folder goes on from there,
// with other keys and another port. Two processes must not serve one folder at
// the same time.
//
// The store is github.com/versity/versitygw. It allows one server at a time in
// a process. It is for trying things out: it listens on the loopback interface
// only, knows one account, has no versions, and answers 501 NotImplemented to
// copies, object locks and websites.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	defaultDir = "chunkup-sandbox"
	region     = "us-east-1"

	// closeLimit bounds Close. The gateway gives requests in flight 10 s.
	closeLimit = 15 * time.Second
)

// Options say where and how the sandbox serves. The zero value serves
// ./chunkup-sandbox on a free port of 127.0.0.1 with random keys.
type Options struct {
	// Dir holds the objects. Empty is ./chunkup-sandbox. It is created if
	// missing.
	Dir string
	// Listen is host:port of the loopback interface: 127.0.0.1, another
	// 127.x.y.z, ::1 or localhost (which is 127.0.0.1). Anything else is a
	// [*ListenError]. Empty is 127.0.0.1:0; port 0 takes a free one.
	Listen string
	// AccessKey and SecretKey are the one account's. Empty ones are drawn at
	// random.
	AccessKey, SecretKey string
	// Buckets are created at the start. One that is there already is kept.
	Buckets []string
}

// Server is a running sandbox. Only [Start] makes one. Its methods are safe for
// concurrent use.
type Server struct {
	dir       string
	addr      string
	accessKey string
	secretKey string
	store     *store

	cancel context.CancelFunc
	tidy   sync.Once
	done   chan struct{}
	err    error // written before done is closed
}

// Start serves the sandbox and returns once it answers. ctx bounds the start
// only; the server lives until [Server.Close], so that an interrupted upload
// can still be aborted on it.
//
// It returns a [*ListenError] for an address that is not loopback,
// [ErrRunning] while another server of this process runs, a [*BucketNameError]
// for a bucket name that S3 does not allow, and otherwise the wrapped error of
// the folder or of the network (errors.As with [*net.OpError] when the port is
// taken).
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sandbox: start: %w", context.Cause(ctx))
	}
	host, port, err := loopback(o.Listen)
	if err != nil {
		return nil, err
	}
	s, err := prepare(o)
	if err != nil {
		return nil, err
	}
	attempts := 1
	if port == freePort {
		attempts = portAttempts
	}
	if err := s.launch(attempts, func() (string, error) { return address(host, port) }); err != nil {
		s.store.Shutdown()
		return nil, err
	}
	// Not before: a start that is refused must not touch what another one is
	// completing in the same folder.
	s.store.reopen()
	for _, name := range o.Buckets {
		if err := s.CreateBucket(ctx, name); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// prepare makes the folder and the store over it; nothing listens yet.
func prepare(o Options) (*Server, error) {
	dir, err := filepath.Abs(orElse(o.Dir, defaultDir))
	if err != nil {
		return nil, fmt.Errorf("sandbox: folder %q: %w", o.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("sandbox: make folder: %w", err)
	}
	s := &Server{dir: dir, accessKey: orElse(o.AccessKey, randomAccessKey()), secretKey: orElse(o.SecretKey, randomSecretKey())}
	if s.store, err = newStore(dir); err != nil {
		return nil, err
	}
	return s, nil
}

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// URL is the endpoint, http://127.0.0.1:PORT. The host is an address and not a
// name, so clients address buckets by path without being told.
func (s *Server) URL() string { return "http://" + s.addr }

// AccessKey is the access key id of the one account.
func (s *Server) AccessKey() string { return s.accessKey }

// SecretKey is the secret of the one account.
func (s *Server) SecretKey() string { return s.secretKey }

// Region is the region that requests are signed for, us-east-1.
func (s *Server) Region() string { return region }

// Dir is the folder of the objects, as an absolute path.
func (s *Server) Dir() string { return s.dir }

// Environment returns the variables, as NAME=value, that make the AWS CLI and
// the AWS SDKs use the sandbox. The session token is emptied: the account has
// none, and the sandbox refuses requests that carry one of another login.
func (s *Server) Environment() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + s.accessKey,
		"AWS_SECRET_ACCESS_KEY=" + s.secretKey,
		"AWS_SESSION_TOKEN=",
		"AWS_REGION=" + region,
		"AWS_ENDPOINT_URL_S3=" + s.URL(),
	}
}

// CreateBucket makes the bucket name. One that is there already is fine. A name
// that S3 does not allow is a [*BucketNameError].
func (s *Server) CreateBucket(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sandbox: create bucket %q: %w", name, context.Cause(ctx))
	}
	if !validBucketName(name) {
		return &BucketNameError{Name: name}
	}
	if err := s.store.makeBucket(ctx, name, s.accessKey); err != nil {
		return fmt.Errorf("sandbox: create bucket %q: %w", name, err)
	}
	return nil
}

// Done is closed when the server has ended, by Close or by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the server runs and after a Close that ended it. After a
// server that ended by itself it is the reason.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close stops listening, lets requests in flight end for up to 10 s, and
// returns when the server has ended, with what Err then says. Later calls
// return the same.
func (s *Server) Close() error {
	s.cancel()
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	select {
	case <-s.done:
	case <-limit.C:
		return errCloseLimit
	}
	s.tidy.Do(s.store.tidy)
	return s.err
}
