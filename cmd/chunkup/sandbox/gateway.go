package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

const (
	// connections is the most the gateway serves at once; more than that many
	// requests are answered 503 SlowDown. Far above what lanes use, and low
	// enough that a runaway client does not fill the memory with buffers.
	connections = 256

	// maxParts is S3's own limit.
	maxParts = 10_000

	startLimit   = 10 * time.Second
	portAttempts = 5

	// busy is how embedgw v1.8.0 says that it is running already. It has no
	// typed error for it, and the text is matched nowhere else.
	busy = "RunVersityGW is already running"
)

// launch starts the gateway on an address that find gives, and waits until it
// answers. The gateway takes addresses and not listeners, so a port that was
// free a moment ago can be someone else's by now: then it asks find for another
// one, for as many attempts.
func (s *Server) launch(attempts int, find func() (string, error)) error {
	var err error
	for range attempts {
		if s.addr, err = find(); err != nil {
			return err
		}
		err = s.run()
		if _, taken := errors.AsType[*net.OpError](err); !taken {
			return err
		}
	}
	return err
}

// run starts one gateway on s.addr. On an error nothing is left running.
func (s *Server) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	listening := make(chan struct{})
	serve := func(ctx context.Context) error {
		return embedgw.RunVersityGW(ctx, s.store, s.config(func() { close(listening) }))
	}
	s.supervise(ctx, cancel, serve)
	select {
	case <-s.done:
		cancel()
		return s.startError()
	case <-listening:
	}
	// Not the caller's context: a gateway that is told to stop before it has
	// begun to serve never stops. It answers within milliseconds.
	if err := s.awaitReady(); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// supervise runs serve until it ends and keeps why it did.
func (s *Server) supervise(ctx context.Context, cancel context.CancelFunc, serve func(context.Context) error) {
	s.cancel, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		s.err = serve(ctx)
		switch {
		case s.err != nil:
			s.err = fmt.Errorf("sandbox: gateway: %w", s.err)
		case ctx.Err() == nil:
			s.err = errStopped
		}
	}()
}

// startError says why the gateway ended before it listened.
func (s *Server) startError() error {
	if strings.Contains(s.err.Error(), busy) {
		return ErrRunning
	}
	return s.err
}

// oneAccount knows no other account. Left to itself, the gateway has the same
// service, but announces it on stdout, and it answers 404 XAdminUserNotFound to
// an access key that it does not know; with ErrNoSuchUser the gateway answers
// 403 InvalidAccessKeyId, as S3 does.
type oneAccount struct{ auth.IAMService }

func (oneAccount) GetUserAccount(string) (auth.Account, error) {
	// The gateway itself knows the one that there is.
	return auth.Account{}, auth.ErrNoSuchUser
}

func (s *Server) config(onListen func()) *embedgw.Config {
	return &embedgw.Config{
		RootUserAccess: s.accessKey,
		RootUserSecret: s.secretKey,
		IAMService: oneAccount{auth.NewIAMServiceSingle(auth.Account{
			Access: s.accessKey, Secret: s.secretKey, Role: auth.RoleAdmin,
		})},
		Region:            region,
		Ports:             []string{s.addr},
		MaxConnections:    connections,
		MaxRequests:       connections,
		MultipartMaxParts: maxParts,
		KeepAlive:         true,
		Quiet:             true,
		// Nothing is served without a signature, so a page of any origin may
		// try, and one that was handed presigned URLs may upload.
		CORSAllowOrigin: "*",
		S3Options: []s3api.Option{
			s3api.WithOnListen(onListen),
			s3api.WithRoute(http.MethodGet, readyPath, ready()),
			s3api.WithMiddleware("/", readRest),
		},
	}
}

// randomAccessKey has the length and the alphabet of AWS's, with 65 random bits.
func randomAccessKey() string { return "SANDBOX" + rand.Text()[:13] }

// randomSecretKey has the length of AWS's, with 200 random bits.
func randomSecretKey() string { return (rand.Text() + rand.Text())[:40] }
