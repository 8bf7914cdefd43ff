package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/mint"
)

// mintURL is the flag that names a minting service.
const mintURL = "mint-url"

// secretHeaderType is how --help shows the value of a secret header.
const secretHeaderType = "K: V"

// serviceLimit is how long a minting service may take to say what it is: it may just
// be starting.
const serviceLimit = 30 * time.Second

// mintURLFlags say which service hands out the requests, and how it knows us.
type mintURLFlags struct {
	url    string
	header secretHeader
}

func (m *mintURLFlags) define(set *pflag.FlagSet) {
	define(set, &m.url, label{mintURL, "", "", "URL", "no credentials: this service (chunkup mint, or Uppy's Companion) hands out every request"}, parseEndpoint)
	m.header.define(set)
}

// secretHeader is a flag of headers. What it was given is in nothing that is printed
// or kept.
type secretHeader struct{ lines [][2]string }

func (h *secretHeader) define(set *pflag.FlagSet) {
	set.Var(h, "mint-header", "what the service knows the caller by, such as 'Authorization: Bearer TOKEN'; repeats; the variable "+
		variable("mint-header")+" shows in no list of processes")
}

// Set implements pflag.Value. Its errors do not repeat the text.
func (h *secretHeader) Set(text string) error {
	name, v, ok := strings.Cut(text, ":")
	name, v = strings.TrimSpace(name), strings.TrimSpace(v)
	switch {
	case !ok || name == "" || v == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }):
		return errors.New("it is not of the form 'Name: value'")
	case strings.ContainsFunc(v, isControl):
		return errors.New("it has a control character")
	case slices.Contains([]string{"Content-Length", "Content-Type", "Connection", "Host", "Transfer-Encoding",
		mint.HeaderAttempt, mint.HeaderIdempotency}, http.CanonicalHeaderKey(name)):
		return fmt.Errorf("%s is not the caller's to set", http.CanonicalHeaderKey(name))
	}
	h.lines = append(h.lines, [2]string{name, v})
	return nil
}

// String implements pflag.Value, and tells nothing.
func (h *secretHeader) String() string { return "" }

// Type implements pflag.Value.
func (h *secretHeader) Type() string { return secretHeaderType }

// header is what is sent.
func (h *secretHeader) header() http.Header {
	header := http.Header{}
	for _, l := range h.lines {
		header.Add(l[0], l[1])
	}
	return header
}

// words give the headers to another command in this process.
func (h *secretHeader) words() (words []string) {
	for _, l := range h.lines {
		words = append(words, "--mint-header", l[0]+": "+l[1])
	}
	return words
}

// connectMint opens the way to a bucket that goes through a minting service. No
// credentials are looked for.
func connectMint(ctx context.Context, f *storeFlags, t *tuningFlags, bucket string, observe breakerObserver) (*connection, error) {
	config, err := f.ownTLS()
	if err != nil {
		return nil, err
	}
	ask, cancel := context.WithTimeoutCause(ctx, serviceLimit, fmt.Errorf("the service at %s did not say within %v what it is", f.mint.url, serviceLimit))
	defer cancel()
	client, err := mint.Dial(ask, f.mint.url, &mint.ClientOptions{Header: f.mint.header.header(), TLS: config})
	if err != nil {
		return nil, fmt.Errorf("--mint-url: %w", err)
	}
	if own := client.Bucket(); !client.Plain() && own != bucket {
		client.Close()
		return nil, usagef("the minting service uploads to the bucket %s: use s3://%s/…", own, own)
	}
	w := wire.NewClient(wire.Options{Limits: t.limits(), TLS: config})
	end := func() error { client.Close(); return nil }
	return &connection{control: client, provider: client, endpoint: newEndpoint(t, client, w, observe), close: end, minted: client}, nil
}

// ownTLS verifies with the certificates of --ca-bundle, else with the system's.
func (s *storeFlags) ownTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.noVerifySSL}
	if s.caBundle == "" {
		return config, nil
	}
	pem, err := os.ReadFile(s.caBundle)
	if err != nil {
		return nil, usagef("--ca-bundle: %w", err)
	}
	if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, usagef("--ca-bundle: %s has no PEM certificate", show(s.caBundle))
	}
	return config, nil
}

// fitStore refuses what the store or its minting service would refuse, before anything
// is sent.
func (f *cpFlags) fitStore(jobs []job, c *connection) error {
	if err := f.fit(jobs, c.control.Traits()); err != nil || c.minted == nil {
		return err
	}
	for i := range jobs {
		if err := c.fitKey(&jobs[i]); err != nil {
			return err
		}
	}
	return f.object.fitService(c.minted.About().Headers)
}

// fitJob does so for a job that is found later.
func (f *cpFlags) fitJob(j *job, c *connection) error {
	if err := f.fitOne(j, c.control.Traits()); err != nil || c.minted == nil {
		return err
	}
	return c.fitKey(j)
}

// fitKey refuses a key that a minting service would not take.
func (c *connection) fitKey(j *job) error {
	if about := c.minted.About(); about.ChooseKeys && !strings.HasPrefix(j.object.Key, about.Prefix) {
		return usagef("%s: the minting service lets this caller write below s3://%s/%s only", show(j.dest), about.Bucket, about.Prefix)
	}
	return nil
}

// fitService refuses properties that the service does not set.
func (o *objectFlags) fitService(allowed []string) error {
	given := map[string]string{"Expires": "expires"}
	for _, h := range objectHeaders {
		given[h.header] = h.flag
	}
	header := o.header("")
	header.Del("Content-Type")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if slices.ContainsFunc(allowed, func(a string) bool { return http.CanonicalHeaderKey(a) == name }) {
			continue
		}
		flag, ok := given[name]
		if !ok {
			flag = "tag"
		}
		return usagef("--%s makes no sense with this minting service, which lets nobody set %s", flag, name)
	}
	return nil
}
