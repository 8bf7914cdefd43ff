package mint

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// refusal is an answer of the service's own other than success. It wraps a
// *wire.StoreError, without that one's words of what a store may mean, and
// presign.ErrCredentials if it was the caller that was refused.
type refusal struct {
	status int
	advice string // goes before what the service said; empty: nothing
	cause  *wire.StoreError
	spoken bool // in the words of the protocol: it was the service, and no proxy
}

func (r *refusal) Error() string {
	if r.status == 0 {
		return r.advice // there was none
	}
	text := fmt.Sprintf("status %d %s", r.status, http.StatusText(r.status))
	if r.cause.Message != "" {
		text += ": " + strings.TrimSuffix(r.cause.Message, ".")
	}
	if r.advice != "" {
		text = r.advice + ": " + text
	}
	return text
}

// Unwrap gives what the refusal means.
func (r *refusal) Unwrap() []error {
	if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
		return []error{r.cause, presign.ErrCredentials}
	}
	return []error{r.cause}
}

// maxRefusal bounds what is read of a refusal, in bytes.
const maxRefusal = 64 << 10

// answered is what a refusal's body may hold. Companion's "error" is a sentence, or,
// unless it is run for production, the error of the AWS SDK.
type answered struct {
	Error   json.RawMessage
	Message string
	Store   *storeError
}

// refused reads an answer other than success.
func (c *caller) refused(status int, header http.Header, body []byte) error {
	body = []byte(c.secrets.hide(string(body[:min(len(body), maxRefusal)]))) // before it is cut: half a secret is one
	var a answered
	if json.Unmarshal(body, &a) != nil {
		a = answered{}
	}
	sentence, sdk := readError(a.Error)
	if store := cmp.Or(a.Store, sdk); store != nil && store.Status/100 > 1 && store.Status < 600 {
		e := store.restore()
		e.Message = c.secrets.hide(cmp.Or(e.Message, a.Message))
		return e
	}
	e := wire.ParseError(status, header, body)
	said := cmp.Or(sentence, a.Message)
	if said != "" || e == nil {
		e = wire.NewStoreError(status, header, "", said)
	}
	// They are for where this machine's clock matters: the store's answers.
	e.Date, e.Skew, e.Code = time.Time{}, 0, ""
	e.Message = c.secrets.hide(e.Message)
	if e.RetryAfter > 0 {
		c.leaveAlone(e.RetryAfter)
	}
	return c.trouble(&refusal{status: status, advice: adviceOn(status, header), cause: e, spoken: said != ""})
}

// adviceOn says what the user can do about a refusal.
func adviceOn(status int, header http.Header) string {
	switch {
	case status == http.StatusUnauthorized:
		return "the minting service refused the token (see --mint-header)"
	case status == http.StatusForbidden:
		return "the minting service refused the token, or what was asked for with it (see --mint-header)"
	case status/100 == 3:
		if to, err := url.Parse(header.Get("Location")); err == nil && to.Host != "" {
			return fmt.Sprintf("it redirects to %s://%s, which is not followed: give that address", to.Scheme, to.Host)
		}
		return "it redirects, which is not followed"
	}
	return ""
}

// hopeless is a question that is not put, for it would be refused, or an answer that
// would be the same again.
func (c *caller) hopeless(why string) error {
	return c.trouble(&refusal{advice: why, cause: &wire.StoreError{Status: http.StatusBadRequest, Message: why}})
}

// asGone gives the service's word that it has no such upload the code that a store
// would give it: it has ended, or the service was started anew and knows it no more.
// Companion has no such word.
func (c *Client) asGone(err error) error {
	e, ok := errors.AsType[*refusal](err)
	if ok && !c.plain && e.spoken && (e.status == http.StatusNotFound || e.status == http.StatusGone) {
		e.cause.Status, e.cause.Code = http.StatusNotFound, "NoSuchUpload"
	}
	return err
}

// asHidden turns the service's word that it knows of no such thing into one that it
// will not say: only the store's own 404 means that there is no object.
func asHidden(err error) error {
	if e, ok := errors.AsType[*refusal](err); ok && e.cause.Status == http.StatusNotFound {
		e.cause.Status = http.StatusForbidden
	}
	return err
}

// hasEnded tells that there is no such upload any more, at the store or because the
// service has aborted it when its time was over.
func hasEnded(err error) bool {
	e, ok := errors.AsType[*refusal](err)
	return ok && e.spoken && e.status == http.StatusGone || isGone(err)
}

// statusOf is the status with which the service itself has refused, 0 if it has not.
func statusOf(err error) int {
	service, ok := errors.AsType[*multipart.ServiceError](err)
	if !ok {
		return 0
	}
	if e, ok := errors.AsType[*refusal](service.Err); ok {
		return e.status
	}
	return 0
}

// secrets are what no error may hold, the longest first.
type secrets []string

// leastSecret is the length below which a text is taken for no secret: it would make
// holes in every sentence.
const leastSecret = 4

// secretsOf are the values of the headers, and what follows a scheme in them.
func secretsOf(h http.Header) secrets {
	var s secrets
	for _, values := range h {
		for _, v := range values {
			s = append(s, v)
			scheme, rest, ok := strings.Cut(v, " ")
			if !ok {
				continue
			}
			s = append(s, strings.TrimSpace(rest))
			if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil && strings.EqualFold(scheme, "Basic") {
				_, password, _ := strings.Cut(string(plain), ":")
				s = append(s, password)
			}
		}
	}
	s = slices.DeleteFunc(s, func(v string) bool { return len(v) < leastSecret })
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return s
}

// hide takes the secrets out of a text.
func (s secrets) hide(text string) string {
	for _, v := range s {
		text = strings.ReplaceAll(text, v, "REDACTED")
	}
	return text
}

// scrub takes the secrets out of what an error says.
func (s secrets) scrub(err error) error {
	text := err.Error()
	if clean := s.hide(text); clean != text {
		return &scrubbed{text: clean, err: err}
	}
	return err
}

// scrubbed is an error in other words.
type scrubbed struct {
	text string
	err  error
}

func (e *scrubbed) Error() string { return e.text }
func (e *scrubbed) Unwrap() error { return e.err }
