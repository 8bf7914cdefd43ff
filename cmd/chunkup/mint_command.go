package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/chunkup/chunkup/cmd/chunkup/page"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/presign/mint"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// minTicketSecret is how long the secret of tickets has to be, in bytes.
const minTicketSecret = 32

// newMint is the command that hands out requests to those who have no credentials.
func newMint(e env) *cobra.Command {
	var f mintFlags
	cmd := &cobra.Command{
		Use:     "mint --bucket NAME --token-file FILE",
		Short:   "Hand out upload requests to clients that hold no credentials",
		Long:    mintHelp,
		Example: mintExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			return f.serve(cmd.Context(), e)
		},
	}
	f.define(cmd)
	return cmd
}

// serve runs the service until it is interrupted. What is wrong with a flag or a file
// is found out before anybody is asked or served.
func (f *mintFlags) serve(ctx context.Context, e env) error {
	warn := warner(e)
	certificate, err := f.certificate()
	if err != nil {
		return err
	}
	tickets, err := f.tickets(warn)
	if err != nil {
		return err
	}
	if f.tokenFile != "" {
		if _, err := newGate(f.tokenFile, f.prefix, newSecret(), func(error) {}); err != nil {
			return err
		}
	}
	s, err := findStore(ctx, &f.store, &f.tuning, f.bucket)
	if err != nil {
		return err
	}
	state, warning, err := f.openMintState(e.getenv, s.endpoint)
	if err != nil {
		return err
	}
	if warning != nil {
		warn(warning)
	}
	h, err := f.handler(e, s, state, tickets)
	if err == nil {
		err = f.listenAndServe(ctx, e, h, certificate)
	}
	return errors.Join(err, state.close())
}

// warner says on standard error what is wrong although nothing failed.
func warner(e env) func(error) {
	var mu sync.Mutex
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(e.stderr, "chunkup: warning: %s\n", sentence(err))
	}
}

// certificate is what is shown to clients; nil serves http.
func (f *mintFlags) certificate() (*tls.Certificate, error) {
	if f.tlsCert == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		return nil, usagef("--tls-cert and --tls-key: %w", err)
	}
	return &c, nil
}

// tickets lets those in who have one; nil if there is no secret of theirs.
func (f *mintFlags) tickets(warn func(error)) (authenticator, error) {
	if f.ticketFile == "" {
		return nil, nil
	}
	info, err := os.Stat(f.ticketFile)
	if err != nil {
		return nil, usagef("--ticket-secret-file: %w", err)
	}
	secret, err := os.ReadFile(f.ticketFile)
	if err != nil {
		return nil, usagef("--ticket-secret-file: %w", err)
	}
	if secret = bytes.TrimSpace(secret); len(secret) < minTicketSecret {
		return nil, usagef("--ticket-secret-file: %s has %d bytes: at least %d are needed", show(f.ticketFile), len(secret), minTicketSecret)
	}
	warnIfOpen(f.ticketFile, info, warn)
	return mint.Tickets(secret), nil
}

// authenticate says who may come in.
func (f *mintFlags) authenticate(e env, secret []byte, tickets authenticator) (authenticator, error) {
	check := tickets
	switch {
	case f.noAuth:
		check = local
	case f.tokenFile != "":
		g, err := newGate(f.tokenFile, f.prefix, secret, warner(e))
		if err != nil {
			return nil, err
		}
		if check = g.authenticate; tickets != nil {
			check = either(tickets, g.authenticate)
		}
	}
	return confined(check, f.prefix, f.chooseKeys), nil
}

// handler puts the service together.
func (f *mintFlags) handler(e env, s foundStore, state *mintState, tickets authenticator) (http.Handler, error) {
	check, err := f.authenticate(e, state.secret, tickets)
	if err != nil {
		return nil, err
	}
	if _, err := state.ledger.Entries(); err != nil {
		return nil, err
	}
	client := s3store.NewClient(s.cfg, s.profile, s.endpoint, s.wire)
	signer := s3presign.New(client, f.ttl)
	h, err := mint.NewHandler(mint.Options{
		Control: s3store.New(client, s.profile, s.wire), Provider: signer, Forms: signer,
		Bucket: f.bucket, Prefix: f.prefix, Authenticate: check, Secret: state.secret, Ledger: state.ledger,
		MaxSize: f.maxSize, MaxParts: f.maxParts, Lifetime: f.lifetime, MaxOpen: f.maxOpen,
		Rate: f.rate, Burst: max(1, int(2*f.rate)), Origins: f.origins, OnEvent: f.logger(e),
	})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return f.withPage(rereading(h, s.cfg.Credentials)), nil
}

// withPage serves the page beside the service.
func (f *mintFlags) withPage(h http.Handler) http.Handler {
	if !f.page {
		return h
	}
	beside := page.Handler(page.Options{MaxSize: f.maxSize})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/s3/") {
			h.ServeHTTP(w, r)
			return
		}
		beside.ServeHTTP(w, r)
	})
}

// rereadEvery is how old credentials may be that do not say when they end: somebody
// may have rotated them, and it is the clients who are refused then, not the service.
const rereadEvery = 30 * time.Second

// rereading has such credentials read again before a request is answered.
func rereading(h http.Handler, provider aws.CredentialsProvider) http.Handler {
	cache, ok := provider.(*aws.CredentialsCache)
	if !ok {
		return h
	}
	var mu sync.Mutex
	read := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if time.Since(read) >= rereadEvery {
			read = time.Now()
			if c, err := cache.Retrieve(r.Context()); err == nil && !c.CanExpire {
				cache.Invalidate()
			}
		}
		mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// logger writes one line per request if it is asked to.
func (f *mintFlags) logger(e env) func(mint.Event) {
	if !f.verbose {
		return nil
	}
	log := slog.New(slog.NewTextHandler(e.stderr, nil))
	return func(v mint.Event) {
		words := []any{"caller", v.Caller, "route", cmp.Or(v.Route, "none"), "status", v.Status}
		if v.Key != "" {
			words = append(words, "key", v.Key)
		}
		if v.Part != 0 {
			words = append(words, "part", v.Part)
		}
		if v.Attempt > 1 {
			words = append(words, "attempt", v.Attempt)
		}
		if words = append(words, "elapsed", v.Elapsed.Round(time.Microsecond)); v.Error != "" {
			words = append(words, "error", v.Error)
		}
		log.Info("request", words...)
	}
}
