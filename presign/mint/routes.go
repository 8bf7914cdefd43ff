package mint

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chunkup/chunkup/multipart"
)

// call is one request on its way through the handler.
type call struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	query  url.Values
	caller Caller

	id, number string // of the path

	// For the event, as far as they are known to be right.
	route      string
	key        string
	partNumber int
}

// action is what a method of a path does: it returns what is answered with 200.
type action struct {
	method, route string
	do            func(*call) (any, error)
}

// find returns the actions of a path, with what the path names. There are none of one
// that is not known.
func find(path string) (actions []action, id, number string) {
	switch path {
	case pathAbout:
		return []action{{http.MethodGet, "about", (*call).about}}, "", ""
	case pathMultipart:
		return []action{{http.MethodPost, "create", (*call).create}}, "", ""
	case pathParams:
		return []action{{http.MethodGet, "params", (*call).params}}, "", ""
	case pathObject:
		return []action{{http.MethodGet, "object", (*call).object}}, "", ""
	}
	below, ok := strings.CutPrefix(path, pathMultipart+"/")
	id, rest, deeper := strings.Cut(below, "/")
	switch {
	case !ok || id == "" || deeper && (rest == "" || strings.Contains(rest, "/")):
		return nil, "", ""
	case !deeper:
		return []action{{http.MethodGet, "list", (*call).listParts}, {http.MethodDelete, "abort", (*call).abort}}, id, ""
	case rest == "complete":
		return []action{{http.MethodPost, "complete", (*call).complete}}, id, ""
	case rest == "batch":
		return []action{{http.MethodGet, "batch", (*call).batch}}, id, ""
	}
	return []action{{http.MethodGet, "sign", (*call).sign}}, id, rest
}

// answer does what is asked for, if the caller may.
func (c *call) answer() (any, error) {
	do, err := c.choose()
	if err != nil {
		return nil, err
	}
	if err := c.h.cors.check(c.r); err != nil {
		return nil, err
	}
	if c.caller, err = c.h.o.Authenticate(c.r); err != nil {
		f := refuse(http.StatusUnauthorized, "the token is missing, wrong, or has ended")
		f.cause, c.caller = err, Caller{}
		return nil, f
	}
	if err := c.h.limits.take(c.caller.Name); err != nil {
		return nil, err
	}
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return nil, refuse(http.StatusBadRequest, "the query is not written as one")
	}
	return do(c)
}

// choose finds the action of the request.
func (c *call) choose() (func(*call) (any, error), error) {
	actions, id, number := find(c.r.URL.Path)
	if len(actions) == 0 {
		return nil, refuse(http.StatusNotFound, "there is nothing at this address")
	}
	c.id, c.number = id, number
	var allow []string
	for _, a := range actions {
		if a.method == c.r.Method {
			c.route = a.route
			return a.do, nil
		}
		allow = append(allow, a.method)
	}
	f := refuse(http.StatusMethodNotAllowed, "this address knows only %s", strings.Join(allow, " and "))
	f.allow = strings.Join(allow, ", ")
	return nil, f
}

// upload opens the upload that the path and the key of the query name.
func (c *call) upload() (multipart.Upload, sealed, error) {
	key := c.query.Get(queryKey)
	if key == "" {
		return multipart.Upload{}, sealed{}, refuse(http.StatusBadRequest, `the object's key must be in the query, as in "?key=abc.jpg"`)
	}
	seal, ok := c.h.sealer.open(c.caller.Name, key, c.id)
	if !ok {
		return multipart.Upload{}, sealed{}, noSuchUpload()
	}
	c.key = key
	return multipart.Upload{Bucket: c.h.o.Bucket, Key: key, ID: seal.ID}, seal, nil
}

// live opens an upload that is not too old; one that is, is aborted.
func (c *call) live() (multipart.Upload, sealed, error) {
	u, seal, err := c.upload()
	if err != nil || seal.age() <= c.h.o.Lifetime {
		return u, seal, err
	}
	f := refuse(http.StatusGone, "the upload was begun more than %v ago: begin another", c.h.o.Lifetime)
	if f.cause = c.end(u, seal); f.cause == nil {
		c.h.book.forget(seal)
	}
	return u, seal, f
}

// decode reads the JSON of a body of at most limit bytes.
func (c *call) decode(limit int64, v any) error {
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", limit)
	if c.r.ContentLength > limit {
		return tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	if err != nil {
		return &failure{status: http.StatusBadRequest, message: "the body did not arrive whole", cause: err}
	}
	err = json.Unmarshal(data, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return refuse(http.StatusBadRequest, "the field %.100q must not be a %s", e.Field, e.Value)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the body is not a JSON object")
	}
	return nil
}

// attempt is how often the client says that it has made this call.
func attempt(r *http.Request) int {
	n, err := strconv.Atoi(r.Header.Get(HeaderAttempt))
	if err != nil || n < 1 {
		return 1
	}
	return n
}
