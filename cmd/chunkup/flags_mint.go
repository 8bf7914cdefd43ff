package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/presign/s3presign"
)

// mintFlags are those of the minting service.
type mintFlags struct {
	store  storeFlags
	tuning tuningFlags
	state  stateFlags

	listen  string
	bucket  string
	prefix  string // of all keys; may be empty
	tlsCert string
	tlsKey  string
	origins []string
	page    bool
	verbose bool

	tokenFile, ticketFile string // empty: there is none
	noAuth, chooseKeys    bool

	ttl      time.Duration // of what is handed out
	lifetime time.Duration // of an upload
	maxSize  int64         // bytes of an object; 0: the store's limit
	maxParts int           // 0: the store's limit
	maxOpen  int
	rate     float64
}

// maxTTL is how long a presigned URL may live
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html).
const maxTTL = 7 * 24 * time.Hour

// mintStore and mintDeadlines are those of cp's flags that act in the service.
var (
	mintStore = map[string]string{"endpoint-url": "", "region": "", "profile": "", "no-verify-ssl": "", "ca-bundle": "",
		"provider": "", "addressing": "", "checksum-algorithm": ""}
	mintDeadlines = map[string]string{"connect-timeout": "", "answer-timeout": "request to the store sent, no status line yet"}
)

func (f *mintFlags) define(cmd *cobra.Command) {
	groups := grouped(cmd.Flags(), []titled{
		{"Service", f.defineService},
		{"Callers", f.defineCallers},
		{"Limits", f.defineLimits},
		{"Store", only(f.store.define, mintStore)},
		{"Deadlines", only(f.tuning.deadlines, mintDeadlines)},
		{"State", f.defineState},
		{"Output", func(set *pflag.FlagSet) {
			set.BoolVarP(&f.verbose, "verbose", "v", false, "one line per request on standard error")
		}},
	})
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups, mintExits) })
}

func (f *mintFlags) defineService(set *pflag.FlagSet) {
	define(set, &f.listen, label{"listen", "", "127.0.0.1:9200", "ADDRESS", "where to listen; port 0 takes a free one"}, parseListen)
	define(set, &f.bucket, label{"bucket", "", "", "NAME", "the bucket that all objects go to"}, parseBucket)
	define(set, &f.prefix, label{"prefix", "", "", "TEXT", "what all keys begin with: a prefix of the text, so end it with / for a folder"}, parsePrefix)
	set.StringArrayVar(&f.origins, "cors-origin", nil, "origin of web pages that may use the service, such as https://example.com, or * for all; repeats")
	define(set, &f.tlsCert, label{"tls-cert", "", "", "FILE", "PEM certificate, and what it is signed by, to serve https"}, parsePath)
	define(set, &f.tlsKey, label{"tls-key", "", "", "FILE", "PEM key of --tls-cert"}, parsePath)
	set.BoolVar(&f.page, "page", false, "serve a web page that uploads from a browser, too")
}

func (f *mintFlags) defineCallers(set *pflag.FlagSet) {
	define(set, &f.tokenFile, label{"token-file", "", "", "FILE", "the tokens of those who may upload, one a line; read again when it changes"}, parsePath)
	define(set, &f.ticketFile, label{"ticket-secret-file", "", "", "FILE", "a secret of at least 32 bytes: who has a ticket that is signed with it may upload"}, parsePath)
	set.BoolVar(&f.noAuth, "no-auth", false, "everybody on this machine may upload: --listen has to be one of its own addresses")
	set.BoolVar(&f.chooseKeys, "choose-keys", false, "callers without a prefix of their own may choose the keys below --prefix; else the service does")
}

func (f *mintFlags) defineLimits(set *pflag.FlagSet) {
	define(set, &f.ttl, label{"url-ttl", "", s3presign.DefaultTTL.String(), "DURATION", "how long what is handed out is good for"}, parseTTL)
	define(set, &f.maxSize, label{"max-size", "", "none", "SIZE", "of an object"}, parseMaxSize)
	define(set, &f.maxParts, label{"max-parts", "", "0", "N", "of an upload; 0 is the store's limit"}, atLeast(0))
	define(set, &f.lifetime, label{"upload-lifetime", "", "168h", "DURATION", "an upload that is older is refused, and dropped"}, longerThanZero)
	define(set, &f.maxOpen, label{"max-open", "", "100", "N", "unfinished uploads of a caller"}, atLeast(1))
	define(set, &f.rate, label{"rate", "", "50", "N", "requests a second of a caller; twice as many at once"}, aboveZero)
}

func (f *mintFlags) defineState(set *pflag.FlagSet) {
	define(set, &f.state.dir, label{"state-dir", "", "", "DIR", "what the service has to know after a restart, its own secret among it, is in a folder below; chunkup in the user's state folder when not given"}, parsePath)
}

// check finds flags that are missing or contradict each other.
func (f *mintFlags) check() error {
	switch {
	case f.bucket == "":
		return usagef("say which bucket with --bucket")
	case f.noAuth && (f.tokenFile != "" || f.ticketFile != ""):
		return usagef("--no-auth makes no sense with --token-file or --ticket-secret-file")
	case f.noAuth && !isLoopback(f.listen):
		return usagef("--no-auth is for this machine only, and %s is no address of its own such as 127.0.0.1: name those who may upload with --token-file", f.listen)
	case !f.noAuth && f.tokenFile == "" && f.ticketFile == "":
		return usagef("say who may upload with --token-file or --ticket-secret-file (or --no-auth, on this machine only)")
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return usagef("--tls-cert and --tls-key need each other")
	case f.chooseKeys && f.prefix == "":
		return usagef("--choose-keys needs a --prefix: nobody may write over everything")
	}
	for _, o := range f.origins {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(o); err != nil && o != "*" {
			return usagef("--cors-origin: %q is not an origin such as https://example.com, or *", o)
		}
	}
	return nil
}

// isLoopback tells an address of this machine alone, with a port or without one.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func parseListen(text string) (string, error) {
	if _, _, err := net.SplitHostPort(text); err != nil {
		return "", fmt.Errorf("%q is not an address such as 127.0.0.1:9200 or :9200", text)
	}
	return text, nil
}

func parseBucket(text string) (string, error) {
	if text = strings.TrimPrefix(text, schemeS3+"://"); !bucketPattern.MatchString(text) {
		return "", fmt.Errorf("%q cannot name a bucket", text)
	}
	return text, nil
}

// parsePrefix refuses what makes keys that some stores and most file systems read as
// others.
func parsePrefix(text string) (string, error) {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) || strings.Contains(text, `\`) {
		return "", fmt.Errorf("%q has characters that keys had better not have", text)
	}
	for _, element := range strings.Split(strings.TrimSuffix(text, "/"), "/") {
		if element == "" && text != "" || element == "." || element == ".." {
			return "", fmt.Errorf("%q has an element that is empty, a dot or two dots", text)
		}
	}
	return text, nil
}

func parseTTL(text string) (time.Duration, error) {
	d, err := zeroOrLonger(text)
	if err == nil && (d < time.Second || d > maxTTL) {
		return 0, fmt.Errorf("it must be from %v to %v", time.Second, maxTTL)
	}
	return d, err
}

func parseMaxSize(text string) (int64, error) {
	if text == "none" {
		return 0, nil
	}
	n, err := parseSize(text)
	if err == nil && n == 0 {
		return 0, errors.New("it must be above zero")
	}
	return n, err
}

func aboveZero(text string) (float64, error) {
	x, err := zeroOrMore(text)
	if err == nil && x == 0 {
		return 0, errors.New("it must be above zero")
	}
	return x, err
}
