package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/chunkup/chunkup/presign/mint"
)

// tokenPattern is what may stand behind Bearer
// (https://www.rfc-editor.org/rfc/rfc6750#section-2.1).
var tokenPattern = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

var callerPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// grant is one line of a token file.
type grant struct {
	line   int
	token  string
	caller mint.Caller // the name may be empty
}

// parseTokens reads a token file: one token a line, "[NAME] TOKEN [prefix=TEXT]
// [max-size=SIZE]", and comments behind a # that begins a word. Keys that a caller may
// choose must begin with the prefix of all keys. Its errors repeat no line, because
// anything in one may be a token.
func parseTokens(text, prefix string) ([]grant, error) {
	var grants []grant
	seen := map[string]int{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		words := uncommented(strings.Fields(line))
		if len(words) == 0 {
			continue
		}
		g, err := parseGrant(words, prefix)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if first, twice := seen[g.token]; twice {
			return nil, fmt.Errorf("line %d: the token is that of line %d", number, first)
		}
		g.line, seen[g.token] = number, number
		grants = append(grants, g)
	}
	return grants, nil
}

func uncommented(words []string) []string {
	for i, w := range words {
		if strings.HasPrefix(w, "#") {
			return words[:i]
		}
	}
	return words
}

func parseGrant(words []string, prefix string) (g grant, err error) {
	var plain []string
	for _, w := range words {
		if text, ok := strings.CutPrefix(w, "prefix="); ok {
			if text == "" || !strings.HasPrefix(text, prefix) {
				return g, fmt.Errorf("prefix= has to be a text that begins with that of --prefix")
			}
			g.caller.Prefix = text
		} else if text, ok := strings.CutPrefix(w, "max-size="); ok {
			if g.caller.MaxSize, err = parseMaxSize(text); err != nil {
				return g, errors.New("max-size= has to be a size above zero, such as 1GiB")
			}
		} else {
			plain = append(plain, w)
		}
	}
	switch len(plain) {
	case 1:
		g.token = plain[0]
	case 2:
		g.caller.Name, g.token = plain[0], plain[1]
	default:
		return g, errors.New("it is not [NAME] TOKEN [prefix=TEXT] [max-size=SIZE]")
	}
	switch {
	case !tokenPattern.MatchString(g.token):
		return g, errors.New("the token has characters other than letters, digits and -._~+/ (and = at its end)")
	case g.caller.Name != "" && !callerPattern.MatchString(g.caller.Name):
		return g, errors.New("the name has characters other than letters, digits and -._@, or more than 64")
	}
	return g, nil
}

// callers are the tokens and whose they are. A token without a name gets one that does
// not tell the token, and is the same after a restart: uploads belong to names.
func callers(grants []grant, secret []byte) map[string]mint.Caller {
	all := map[string]mint.Caller{}
	for _, g := range grants {
		if g.caller.Name == "" {
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte("name of a token\n" + g.token))
			g.caller.Name = "token-" + hex.EncodeToString(mac.Sum(nil)[:6])
		}
		all[g.token] = g.caller
	}
	return all
}
