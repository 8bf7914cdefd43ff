package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/chunkup/chunkup/integration/bench/sink"
)

// sinkPlace is the line that the sink prints when it is ready.
type sinkPlace struct {
	URL     string `json:"url"`
	Control string `json:"control"`
	CA      string `json:"ca,omitempty"`
}

// bytesFlag is a number of bytes, which may be written as 10e6.
type bytesFlag struct{ n *int64 }

func (b bytesFlag) String() string { return "" }

func (b bytesFlag) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	*b.n = int64(n)
	return err
}

func sinkFlags(f *flag.FlagSet, o *sink.Options) {
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "where to listen")
	f.BoolVar(&o.TLS, "tls", false, "serve TLS, with a certificate of a CA that is made for it")
	f.Var(bytesFlag{&o.ConnRate}, "conn-rate", "bytes a second that are read from each connection, as 10e6")
	f.Var(bytesFlag{&o.TotalRate}, "total-rate", "bytes a second that are read from all connections")
	f.DurationVar(&o.AnswerDelay, "answer-delay", 0, "how late answers are")
	f.IntVar(&o.ConnUses, "conn-uses", 0, "requests after which a connection is closed; 0: never")
	f.Float64Var(&o.Refuse, "refuse", 0, "share of parts and objects that is refused with 503 SlowDown")
	f.Uint64Var(&o.Seed, "seed", 1, "of what is refused")
	f.IntVar(&o.Freeze, "freeze", 0, "one connection in so many freezes; 0: none")
	f.Var(bytesFlag{&o.Outage.After}, "outage-after", "bytes after which an outage begins")
	f.DurationVar(&o.Outage.For, "outage", 0, "length of the outage")
	f.BoolVar(&o.Outage.Silent, "outage-silent", false, "in the outage connections hear nothing, instead of being cut")
}

// serveSink serves until stdin ends or the context does.
func serveSink(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	var o sink.Options
	f := flag.NewFlagSet("bench sink", flag.ContinueOnError)
	sinkFlags(f, &o)
	address := f.String("control", "127.0.0.1:0", "where the counters are served")
	if err := f.Parse(args); err != nil {
		return err
	}
	s, err := sink.Start(o)
	if err != nil {
		return err
	}
	defer s.Close()
	ln, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	control := &http.Server{Handler: s.Control()}
	defer control.Close()
	failed := make(chan error, 1)
	go func() { failed <- control.Serve(ln) }()
	if err := json.NewEncoder(stdout).Encode(sinkPlace{URL: s.URL(), Control: "http://" + ln.Addr().String(), CA: s.CA()}); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // an error ends it as well
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	case err = <-failed:
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return s.Close()
}
