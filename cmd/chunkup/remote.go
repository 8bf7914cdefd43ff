package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
)

// remoteFlags are those of the commands that ask a store about what is there.
type remoteFlags struct {
	store  storeFlags
	tuning tuningFlags
	state  stateFlags
	json   bool
	given  *pflag.FlagSet
}

// Which of cp's flags act where nothing is uploaded, and what is to be said of them
// there if it is something else. An aborting command line is made of askingStore.
var (
	askingStore = map[string]string{"endpoint-url": "", "region": "", "profile": "", "no-verify-ssl": "", "ca-bundle": "",
		"provider": "", "addressing": "", "sandbox-dir": ""}
	askingDeadlines = map[string]string{"connect-timeout": "", "timeout": "",
		"answer-timeout": "request sent, no status line yet"}
	readingDeadlines = map[string]string{"connect-timeout": "", "timeout": "",
		"answer-timeout": "request sent, no status line yet",
		"min-rate":       "the floor of the link that bounds each answer of --read: bytes / min-rate + overhead",
		"overhead":       "the fixed share of that bound"}
	askingRetries = map[string]string{"backoff-base": "", "backoff-cap": "", "jitter": "", "retry-after-cap": "", "retry-ratio": "", "retry-floor": "",
		"breaker-failures": "", "breaker-cooldown": "", "breaker-max-cooldown": "",
		"max-attempts": "failures in a row of one request (four times that, whatever happens)",
		"max-elapsed":  "how long a request may go on to fail; 0 is for ever",
		"retry-budget": "capacity of the budget in retries; auto is 10"}
)

// only defines those flags that are named, with what is said of them.
func only(define func(*pflag.FlagSet), names map[string]string) func(*pflag.FlagSet) {
	return func(set *pflag.FlagSet) {
		all := pflag.NewFlagSet("", pflag.ContinueOnError)
		all.SortFlags = false
		define(all)
		all.VisitAll(func(f *pflag.Flag) {
			usage, ok := names[f.Name]
			if !ok {
				return
			}
			f.Usage = cmp.Or(usage, f.Usage)
			set.AddFlag(f)
		})
	}
}

// defineUploads adds the flags of the commands about unfinished uploads, their own
// first, and makes the usage.
func (f *remoteFlags) defineUploads(cmd *cobra.Command, own ...titled) {
	f.define(cmd, remoteExits, append(own, []titled{
		{"Store", only(f.store.define, askingStore)},
		{"Deadlines", only(f.tuning.deadlines, askingDeadlines)},
		{"Retries", only(f.tuning.retries, askingRetries)},
		{"State", f.state.defineDir},
	}...))
}

// define adds flags to cmd, and makes its usage.
func (f *remoteFlags) define(cmd *cobra.Command, exits string, list []titled) {
	f.given = cmd.Flags()
	groups := grouped(f.given, append(list, titled{"Output", func(set *pflag.FlagSet) { defineJSON(set, &f.json) }}))
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
	journals *journal.Dir // nil: there are none
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
	if err := f.store.isThere(dest); err != nil {
		return err
	}
	journals, err := f.state.journals(e.getenv)
	if errors.Is(err, errNoHome) {
		err = nil // nobody can have kept any there
	}
	if err != nil {
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
	r, err := f.remote(c, dest, journals)
	if err == nil {
		err = named(do(ctx, r), dest)
	}
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, c.end())
}

func (f *remoteFlags) remote(c *connection, dest destination, journals *journal.Dir) (r *remote, err error) {
	o := f.tuning.uploader()
	o.Endpoint, o.Journal = c.endpoint, journals
	r = &remote{connection: c, dest: dest, journals: journals}
	r.uploader, err = multipart.New(c.control, c.provider, &o)
	return r, err
}

// isThere refuses a sandbox that is not there: only cp makes one.
func (s *storeFlags) isThere(d destination) error {
	if d.scheme != schemeSandbox {
		return nil
	}
	path := filepath.Join(s.sandboxDir, d.bucket)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return usagef("there is no %s, because there is no folder %s (see --sandbox-dir)", d.address(""), show(path))
	}
	return nil
}

// named makes an error call the object what the user calls it.
func named(err error, d destination) error {
	if e, ok := errors.AsType[*multipart.Error](err); ok {
		if rest, ok := strings.CutPrefix(e.Object, schemeS3+"://"); ok {
			e.Object = d.scheme + "://" + rest
		}
	}
	return err
}
