package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Bounds on what a client may keep the service waiting for. The answer to a Complete
// takes as long as the store does.
const (
	headerLimit = 10 * time.Second
	readLimit   = time.Minute
	answerLimit = 20 * time.Minute
	idleLimit   = 2 * time.Minute
	maxHeaders  = 64 << 10 // bytes
)

// shutdownLimit is how long calls that have begun may go on after an interrupt.
const shutdownLimit = 10 * time.Second

// listenAndServe serves until it is interrupted, which is how it is meant to end.
func (f *mintFlags) listenAndServe(ctx context.Context, e env, h http.Handler, certificate *tls.Certificate) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("mint: %w", err)
	}
	if certificate == nil && !isLoopback(f.listen) {
		warner(e)(errors.New("tokens go over the network as they are, unless something in front of the service speaks https (see --tls-cert)"))
	}
	if err := f.announce(e.stdout, addressOn(l, certificate != nil)); err != nil {
		return errors.Join(err, l.Close())
	}
	calls, cut := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt ends no call
	defer cut()
	server := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return calls }, ErrorLog: f.serverLog(e),
		ReadHeaderTimeout: headerLimit, ReadTimeout: readLimit, WriteTimeout: answerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeaders}
	ended := make(chan error, 1)
	go func() { ended <- serveOn(server, l, certificate) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the service ended by itself: %w", err)
	case <-ctx.Done():
	}
	return shutDown(e, server)
}

func serveOn(s *http.Server, l net.Listener, certificate *tls.Certificate) error {
	if certificate == nil {
		return s.Serve(l)
	}
	s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}}
	return s.ServeTLS(l, "", "")
}

// shutDown lets calls end that have begun, for a while.
func shutDown(e env, s *http.Server) error {
	stop, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	err := s.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(e.stderr, "chunkup: warning: calls that did not end within %v were cut off\n", shutdownLimit)
		err = s.Close()
	}
	return err
}

// serverLog is for what goes wrong before there is a request.
func (f *mintFlags) serverLog(e env) *log.Logger {
	if !f.verbose {
		return log.New(io.Discard, "", 0)
	}
	return log.New(e.stderr, "", log.LstdFlags|log.LUTC)
}

// addressOn is how clients on this machine call a listener.
func addressOn(l net.Listener, secure bool) string {
	scheme, address := "http://", l.Addr().String()
	if secure {
		scheme = "https://"
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		address = fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return scheme + address
}

// announce says in one line where the service is and how it is used.
func (f *mintFlags) announce(w io.Writer, address string) error {
	use := fmt.Sprintf("chunkup cp FILE s3://%s/%s --mint-url %s", f.bucket, shellWord(f.prefix+"NAME"), address)
	if !f.noAuth {
		use += " --mint-header 'Authorization: Bearer TOKEN'"
	}
	if f.page {
		use += ", or open " + address + "/"
	}
	_, err := fmt.Fprintf(w, "serving bucket %s at %s until interrupted: %s\n", f.bucket, address, use)
	return err
}
