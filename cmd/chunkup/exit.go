package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// The exit codes, as docs/cli.md has them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitDenied      = 4
	exitIntegrity   = 5
	exitUnknown     = 6
	exitInterrupted = 130
)

// usageError is what the user has to write differently. Nothing was sent.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// stopError is why the whole command ends before its work is done. It is the
// cause of the context's end.
type stopError struct {
	code int
	text string
}

func (e *stopError) Error() string { return e.text }

var errInterrupted = &stopError{exitInterrupted, "interrupted"}

func timeoutError(limit time.Duration) error {
	return &stopError{exitFailed, fmt.Sprintf("the time limit of %v (--timeout) is over", limit)}
}

// toldError is a failure that the user has been told of already.
type toldError struct{ code int }

func (e *toldError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode turns an error into the command's exit code. It looks at types only.
func exitCode(err error) int {
	var (
		told     *toldError
		stop     *stopError
		usage    *usageError
		limit    *chunker.LimitError
		mismatch *multipart.MismatchError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &told):
		return told.code
	case errors.Is(err, multipart.ErrUnknownOutcome):
		return exitUnknown
	case errors.As(err, &stop) && stop.code == exitInterrupted:
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &limit) && !begun(err):
		return exitUsage
	case errors.Is(err, multipart.ErrExists):
		return exitFailed
	case errors.Is(err, multipart.ErrSourceChanged), errors.As(err, &mismatch), damaged(err):
		return exitIntegrity
	case denied(err):
		return exitDenied
	case resumable(err):
		return exitIncomplete
	case errors.As(err, &stop):
		return stop.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// begun tells what failed after something was sent from what was refused before.
func begun(err error) bool {
	_, ok := errors.AsType[*multipart.Error](err)
	return ok
}

// resumable tells that nothing is lost: a journal says how to go on.
func resumable(err error) bool {
	e, ok := errors.AsType[*multipart.Error](err)
	return ok && e.Journal != ""
}

// damaged tells a store that got, again and again, other bytes than were sent.
func damaged(err error) bool {
	e, ok := errors.AsType[*wire.StoreError](err)
	return ok && wire.Classify(wire.Outcome{Op: wire.PutPart, Status: e.Status, Code: e.Code}) == wire.Reread
}

// deniedCodes are refusals of who asks, or of how it is signed, that some
// stores answer with another status than 401 or 403.
var deniedCodes = []string{
	"AccessDenied", "AccountProblem", "AllAccessDisabled", "ExpiredRequest", "ExpiredToken", "InvalidAccessKeyId",
	"InvalidSecurity", "InvalidToken", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "TokenRefreshRequired",
}

func denied(err error) bool {
	if errors.Is(err, multipart.ErrCredentials) || errors.Is(err, multipart.ErrExpired) {
		return true
	}
	e, ok := errors.AsType[*wire.StoreError](err)
	return ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || slices.Contains(deniedCodes, e.Code))
}

// severity is the order in which one exit code is chosen for several sources,
// the worst first.
var severity = []int{exitInterrupted, exitUnknown, exitIntegrity, exitDenied, exitFailed, exitIncomplete, exitUsage, exitOK}

// worst returns the worse of two exit codes.
func worst(a, b int) int {
	if slices.Index(severity, a) < slices.Index(severity, b) {
		return a
	}
	return b
}
