package mint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// failure is why a request was not done: what the one who asked is told, and for the
// events what is behind it.
type failure struct {
	status     int
	message    string // one sentence, for people
	store      *storeError
	retryAfter time.Duration
	allow      string // of a 405
	cause      error  // never told to the client
}

func (f *failure) Error() string {
	if f.cause != nil {
		return f.message + ": " + f.cause.Error()
	}
	return f.message
}

func (f *failure) Unwrap() error { return f.cause }

// refuse makes a failure of the one who asked.
func refuse(status int, format string, args ...any) *failure {
	return &failure{status: status, message: fmt.Sprintf(format, args...)}
}

// broken makes a failure of this service. What is behind it stays inside.
func broken(message string, cause error) *failure {
	return &failure{status: http.StatusInternalServerError, message: message, cause: cause}
}

// noSuchUpload is the answer for an upload that is unknown, gone, or another's: it
// does not say which.
func noSuchUpload() *failure {
	return refuse(http.StatusNotFound, "there is no such upload of this key")
}

// asFailure makes an answer of any error of a route: those that are no failure yet
// are of the store's control plane or of what signs for it.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return storeFailure(e)
	}
	f := &failure{status: http.StatusBadGateway, message: "the store cannot be reached", cause: err}
	if _, ok := errors.AsType[*wire.DeadlineError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		f.status, f.message = http.StatusGatewayTimeout, "the store has not answered in time"
	}
	f.store = &storeError{Status: f.status, Message: f.message}
	return f
}

// storeFailure passes a refusal on. What the store has against this service, or suffers
// from itself, is not the fault of the one who asked.
func storeFailure(e *wire.StoreError) *failure {
	f := &failure{status: e.Status, store: storeErrorOf(e), retryAfter: e.RetryAfter, cause: e,
		message: fmt.Sprintf("the store has refused this with status %d", e.Status)}
	if e.Code != "" {
		f.message += " " + e.Code
	}
	ours := e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || hasExpired(e)
	throttled := e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests || e.RetryAfter > 0
	switch {
	case !ours && throttled:
		f.status = http.StatusServiceUnavailable
	case ours:
		f.status, f.store.Message = http.StatusBadGateway, "" // it names this service's account
	case e.Status < 400 || e.Status > 499:
		f.status = http.StatusBadGateway
	}
	return f
}

// isGone tells that the store does not know an upload any more.
func isGone(err error) bool {
	e, ok := errors.AsType[*wire.StoreError](err)
	return ok && e.Status == http.StatusNotFound && e.Code == "NoSuchUpload"
}

// hasExpired tells that the store goes by credentials that have ended.
func hasExpired(e *wire.StoreError) bool {
	return wire.Classify(wire.Outcome{Status: e.Status, Code: e.Code, Message: e.Message}) == wire.Remint
}

// isRefusal tells that the store has definitely not done what it was asked for.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*wire.StoreError](err)
	return ok && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusRequestTimeout
}

// write answers with the failure.
func (f *failure) write(w http.ResponseWriter) {
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(ceilSeconds(f.retryAfter), 10))
	}
	if f.allow != "" {
		w.Header().Set("Allow", f.allow)
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, f.status, errorResponse{Error: f.message, Message: f.message, Store: f.store})
}

// ceilSeconds is a wait in whole seconds: a shorter one would be in vain.
func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// writeJSON answers. An error of the connection is the client's, who asks again.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
