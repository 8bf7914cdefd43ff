package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

func TestExitCode(t *testing.T) {
	refusal := func(status int, code string) error {
		return &multipart.Error{Op: wire.PutPart, Err: &wire.StoreError{Status: status, Code: code}}
	}
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"anything", errors.New("x"), 1},
		{"refused connection", &multipart.Error{Err: errors.New("connection refused"), Stopped: multipart.ErrAttempts}, 1},
		{"server error", refusal(500, "InternalError"), 1},
		{"no such bucket", refusal(404, "NoSuchBucket"), 1},
		{"source gone meanwhile", &fs.PathError{Op: "open", Err: fs.ErrNotExist}, 1},
		{"time limit", &multipart.Error{Err: timeoutError(time.Second)}, 1},
		{"usage", usagef("x"), 2},
		{"limit", fmt.Errorf("x: %w", &chunker.LimitError{}), 2},
		{"401", refusal(401, ""), 4},
		{"403", refusal(403, ""), 4},
		{"wrong key with another status", refusal(400, "InvalidAccessKeyId"), 4},
		{"signature with another status", refusal(400, "SignatureDoesNotMatch"), 4},
		{"expired token", refusal(400, "ExpiredToken"), 4},
		{"no credentials", fmt.Errorf("%w: x", multipart.ErrCredentials), 4},
		{"expired again and again", &multipart.Error{Err: errors.New("x"), Stopped: multipart.ErrExpired}, 4},
		{"source changed", &multipart.Error{Err: fmt.Errorf("%w: x", multipart.ErrSourceChanged)}, 5},
		{"mismatch", &multipart.Error{Err: &multipart.MismatchError{}}, 5},
		{"bad digest", refusal(400, "BadDigest"), 5},
		{"unknown outcome", &multipart.Error{Err: fmt.Errorf("%w: %w", multipart.ErrUnknownOutcome, refusal(403, ""))}, 6},
		{"unknown outcome, interrupted", &multipart.Error{Err: fmt.Errorf("%w: %w", multipart.ErrUnknownOutcome, errInterrupted)}, 6},
		{"interrupted", &multipart.Error{Err: errInterrupted}, 130},
		{"cancelled", context.Canceled, 130},
		{"kept", &multipart.Error{Err: errors.New("connection refused"), Stopped: multipart.ErrAttempts, Journal: "j"}, 3},
		{"time limit, kept", &multipart.Error{Err: timeoutError(time.Second), Journal: "j"}, 3},
		{"interrupted, kept", &multipart.Error{Err: errInterrupted, Journal: "j"}, 130},
		{"cancelled, kept", &multipart.Error{Err: context.Canceled, Journal: "j"}, 3},
		{"denied, kept", &multipart.Error{Err: &wire.StoreError{Status: 403}, Journal: "j"}, 4},
		{"bad digest, kept", &multipart.Error{Err: &wire.StoreError{Status: 400, Code: "BadDigest"}, Journal: "j"}, 5},
		{"unknown outcome, kept", &multipart.Error{Err: multipart.ErrUnknownOutcome, Journal: "j"}, 6},
		{"another object", &multipart.Error{Err: fmt.Errorf("%w: %w", multipart.ErrExists, &multipart.MismatchError{}), Journal: "j"}, 1},
		{"unproven", fmt.Errorf("x: %w", multipart.ErrUnproven), 1},
		{"stream too long", &multipart.Error{Err: &chunker.LimitError{}}, 1},
		{"told before", &toldError{5}, 5},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWorst(t *testing.T) {
	order := []int{130, 6, 5, 4, 1, 3, 2, 0}
	for i, a := range order {
		for _, b := range order[i:] {
			if worst(a, b) != a || worst(b, a) != a {
				t.Errorf("of %d and %d the worse is %d and %d, want %d", a, b, worst(a, b), worst(b, a), a)
			}
		}
	}
	if !slices.Equal(order, severity) {
		t.Errorf("the order is %v, want %v", severity, order)
	}
}
