package mint

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// Caller is who asks, as [Options].Authenticate says. The zero value is a caller
// without a name who may not choose keys.
type Caller struct {
	// Name tells callers apart: limits are counted by it, and an upload belongs to
	// the name that began it.
	Name string

	// Prefix is what the keys begin with that the caller may choose: a prefix of the
	// string, so that one which is to be a folder ends in "/". Empty: it chooses none.
	Prefix string

	// MaxSize bounds an object, in bytes. 0: the handler's own limit alone does.
	MaxSize int64
}

var (
	errNoToken    = errors.New("the request has no header Authorization: Bearer")
	errWrongToken = errors.New("the token is not known")
)

// Bearer authenticates by the header Authorization: Bearer and a token of the map.
// How long it takes does not tell how much of a token was right. The map is read once;
// an empty token in it is nobody's.
func Bearer(tokens map[string]Caller) func(*http.Request) (Caller, error) {
	type known struct {
		sum    [sha256.Size]byte
		caller Caller
	}
	var all []known
	for token, caller := range tokens {
		all = append(all, known{sha256.Sum256([]byte(token)), caller})
	}
	return func(r *http.Request) (Caller, error) {
		token, err := bearerToken(r)
		if err != nil {
			return Caller{}, err
		}
		sum, found := sha256.Sum256([]byte(token)), -1
		for i := range all {
			if subtle.ConstantTimeCompare(sum[:], all[i].sum[:]) == 1 {
				found = i
			}
		}
		if found < 0 {
			return Caller{}, errWrongToken
		}
		return all[found].caller, nil
	}
}

// Anyone takes every request for c's: for a network in which all are trusted. Web pages
// of other origins than [Options].Origins are still refused.
func Anyone(c Caller) func(*http.Request) (Caller, error) {
	return func(*http.Request) (Caller, error) { return c, nil }
}

// bearerToken is what follows Bearer in the request's Authorization.
func bearerToken(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errNoToken
	}
	return token, nil
}
