package storm

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// sdk is the standard retryer of the AWS SDK for Go itself, at the version in
// go.mod, with its defaults: one for all parts of a process, as one client has.
// It has no deadline on sending.
func sdk(w *world) process {
	r := newRival(w)
	s := retry.NewStandard()
	r.part = func(ctx context.Context, try func() outcome) bool { return standard(ctx, s, try) }
	return r
}

// standard is the loop around the retryer (aws/retry, Attempt.HandleFinalize):
// the token is taken before the wait, and without one the operation fails.
func standard(ctx context.Context, s *retry.Standard, try func() outcome) bool {
	release, empty := s.GetAttemptToken(ctx)
	for n := 1; empty == nil && ctx.Err() == nil; n++ {
		err := failure(try())
		if release(err) != nil {
			return false
		}
		if err == nil {
			return true
		}
		if !s.IsErrorRetryable(err) || n >= s.MaxAttempts() {
			return false
		}
		if release, empty = s.GetRetryToken(ctx, err); empty != nil {
			return false
		}
		wait, _ := s.RetryDelay(n, err)
		time.Sleep(wait)
	}
	return false
}

// failure is what the SDK sees of an outcome.
func failure(o outcome) error {
	switch o {
	case done:
		return nil
	case throttled:
		return &smithy.GenericAPIError{Code: "SlowDown", Message: "Please reduce your request rate."}
	}
	return &net.OpError{Op: "write", Net: "tcp", Err: errors.New("connection reset by peer")}
}
