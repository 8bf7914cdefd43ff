package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// parseEndpoint reads a store's address. What it refuses may have a password or a
// signature in it, so it is never repeated as it was given.
func parseEndpoint(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", errors.New("it is not an address such as https://s3.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("it has more than scheme, host and path: use %s", withoutSecrets(text))
	}
	return text, nil
}

// withoutSecrets is an address without the user, the query and the fragment, which
// may be secret.
func withoutSecrets(text string) string {
	text, _, _ = strings.Cut(text, "?")
	text, _, _ = strings.Cut(text, "#")
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	host, path, slash := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	if slash {
		path = "/" + path
	}
	return scheme + "://" + host + path
}

// flagError is what is wrong with a flag's value. That of one that may be secret is
// left out.
func flagError(err error) error {
	e, ok := errors.AsType[*pflag.InvalidValueError](err)
	if ok && mayBeSecret(e.GetFlag()) {
		return fmt.Errorf("invalid argument for %q flag: %w", "--"+e.GetFlag().Name, e.Unwrap())
	}
	return err
}

// mayBeSecret tells a flag whose value may hold a password.
func mayBeSecret(f *pflag.Flag) bool { return f.Value.Type() == "URL" || isSecret(f) }

// isSecret tells a flag whose value is in nothing that is printed or kept.
func isSecret(f *pflag.Flag) bool { return f.Value.Type() == secretHeaderType }
