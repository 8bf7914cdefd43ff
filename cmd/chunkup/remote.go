package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// remoteFlags are those of the commands that ask a store about what is there.
type remoteFlags struct {
	store  storeFlags
	tuning tuningFlags
	state  stateFlags
	json   bool
	given  *pflag.FlagSet
}

// define adds the flags to cmd, its own first, and makes its usage.
func (f *remoteFlags) define(cmd *cobra.Command, exits string, own ...titled) {
	f.given = cmd.Flags()
	groups := grouped(f.given, append(own, []titled{
		{"Store", f.store.define},
		{"Deadlines", f.tuning.deadlines},
		{"Retries", f.tuning.retries},
		{"State", f.state.defineDir},
		{"Output", func(set *pflag.FlagSet) { defineJSON(set, &f.json) }},
	}...))
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups, exits) })
}

func defineJSON(set *pflag.FlagSet, to *bool) {
	set.BoolVar(to, "json", false, "JSON lines on standard output, nothing else there")
}

// remote is the way to a destination for such a command.
type remote struct {
	*connection
	dest     destination
	uploader *multipart.Uploader
	tuning   *tuningFlags
	journals *journal.Dir
}

// at runs do with the way to the destination that text names.
func (f *remoteFlags) at(ctx context.Context, e env, text string, do func(context.Context, *remote) error) error {
	dest, err := parseDestination(text)
	if err != nil {
		return err
	}
	if err := f.store.checkScheme(f.given, dest); err != nil {
		return err
	}
	if f.tuning.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.tuning.timeout, timeoutError(f.tuning.timeout))
		defer cancel()
	}
	c, err := connect(ctx, &f.store, &f.tuning, dest, func(string, breaker.State, breaker.State) {})
	if err != nil {
		return err
	}
	o := f.tuning.uploader()
	o.Endpoint, o.Journal = c.endpoint, f.state.journals(e.getenv)
	r := &remote{connection: c, dest: dest, tuning: &f.tuning, journals: o.Journal}
	if r.uploader, err = multipart.New(c.control, c.provider, &o); err == nil {
		err = do(ctx, r)
	}
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, c.end())
}

// persist calls f until it succeeds, as often and with the waits that the flags
// say.
func (r *remote) persist(ctx context.Context, op wire.Operation, f func(context.Context) error) error {
	b := r.tuning.backoff
	middle, spread := 1.0, 0.0 // of a wait, in ceilings; of the middle
	switch b.Jitter {
	case multipart.FullJitter:
		middle, spread = 0.5, 1
	case multipart.EqualJitter:
		middle, spread = 0.75, 1.0/3
	}
	scale := func(d time.Duration) time.Duration { return max(time.Duration(float64(d)*middle), 1) }
	waits := backoff.NewExponentialBackOff(backoff.WithInitialInterval(scale(b.Base)), backoff.WithMaxInterval(scale(b.Cap)),
		backoff.WithMultiplier(2), backoff.WithRandomizationFactor(spread), backoff.WithMaxElapsedTime(r.tuning.maxElapsed))
	try := func() error {
		err := f(ctx)
		if err != nil && (ctx.Err() != nil || !passing(op, err)) {
			return backoff.Permanent(err)
		}
		return err
	}
	return backoff.Retry(try, backoff.WithContext(backoff.WithMaxRetries(waits, uint64(r.tuning.maxAttempts-1)), ctx))
}

// passing tells what may go away by itself.
func passing(op wire.Operation, err error) bool {
	if errors.Is(err, multipart.ErrCredentials) {
		return false
	}
	o := wire.Outcome{Op: op, Err: err}
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		o.Status, o.Code, o.Message = e.Status, e.Code, e.Message
	}
	class := wire.Classify(o)
	return class == wire.Retry || class == wire.Throttle
}

// teller prints a command's lines, for people or as JSON.
type teller struct {
	out    *sink
	encode *json.Encoder // nil: for people
}

func newTeller(w io.Writer, asJSON bool) *teller {
	t := &teller{out: &sink{to: w}}
	if asJSON {
		t.encode = json.NewEncoder(t.out)
		t.encode.SetEscapeHTML(false)
	}
	return t
}

// tell prints v as JSON, or else the text.
func (t *teller) tell(v any, format string, args ...any) {
	if t.encode != nil {
		_ = t.encode.Encode(v)
		return
	}
	fmt.Fprintf(t.out, format+"\n", args...)
}

// close returns the first error of writing, which is no success.
func (t *teller) close() error {
	if t.out.err != nil {
		return fmt.Errorf("write standard output: %w", t.out.err)
	}
	return nil
}

// age is how long ago something was, as people want to read it.
func age(since time.Time) string {
	d := time.Since(since)
	switch {
	case since.IsZero():
		return "?"
	case d < 0:
		return "0s"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return d.Truncate(time.Second).String()
}
