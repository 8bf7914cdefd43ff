package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chunkup/chunkup/breaker"
)

// An attempt that may wait: ask, get ready, ask whether the permit still
// holds, send, report what it says about the endpoint.
func Example() {
	changes := make(chan string, 3)
	b := breaker.New(breaker.Options{
		Cooldown: 10 * time.Millisecond, // an example must not take long
		OnChange: func(from, to breaker.State) { changes <- fmt.Sprint(from, " -> ", to) },
	})
	attempt := func(ctx context.Context, op string, size int64, send func() int) error {
		p, err := b.Wait(ctx, op, size)
		if err != nil {
			return err
		}
		defer p.Report(breaker.Ignored) // counts only if nothing else is reported
		// Here one waits for a connection, a lane, a token.
		if !p.Current() {
			return errors.New("the breaker has changed, ask again")
		}
		status := send()
		switch {
		case status < 300:
			p.Report(breaker.Success)
			return nil
		case status >= 500:
			p.Report(breaker.Failure)
		}
		return fmt.Errorf("%s: status %d", op, status)
	}
	ok := func() int { return http.StatusOK }
	down := func() int { return http.StatusServiceUnavailable }

	ctx := context.Background()
	for part := range 5 {
		fmt.Println(attempt(ctx, fmt.Sprint("upload-1/", part), 5<<20, down))
	}
	fmt.Println(attempt(ctx, "upload-1/0", 5<<20, ok)) // waits for the cooldown, and is the probe
	for range 3 {
		fmt.Println(<-changes) // each may be told a little after the call that caused it
	}
	// Output:
	// upload-1/0: status 503
	// upload-1/1: status 503
	// upload-1/2: status 503
	// upload-1/3: status 503
	// upload-1/4: status 503
	// <nil>
	// closed -> open
	// open -> half-open
	// half-open -> closed
}

// Work that had better fail at once than wait.
func ExampleBreaker_Allow() {
	b := breaker.New(breaker.Options{Failures: 1, Cooldown: time.Minute})
	p, err := b.Allow("create/1")
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Report(breaker.Failure)

	_, err = b.Allow("create/2")
	fmt.Println(errors.Is(err, breaker.ErrOpen))
	if e, ok := errors.AsType[*breaker.OpenError](err); ok {
		fmt.Println(e.RetryIn > 29*time.Second && e.RetryIn < time.Minute)
	}
	// Output:
	// true
	// true
}
