package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chunkup/chunkup/multipart/journal"
)

func newStateResume(e env) *cobra.Command {
	var s stateFlags
	var all bool
	var header secretHeader
	cmd := &cobra.Command{
		Use:   "resume [PATH|DEST|SOURCE...] [--all]",
		Short: "Go on with unfinished uploads, one after another",
		Long:  stateResumeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			if all == (len(args) > 0) {
				return usagef("name what to resume, or give --all: see chunkup state ls")
			}
			dir, err := s.list(e.getenv)
			if err != nil {
				return err
			}
			entries, err := choose(dir, args)
			if all {
				entries, err = dir.List()
			}
			if err != nil {
				return err
			}
			if err := oneService(entries, header); err != nil {
				return err
			}
			return resumeState(cmd.Context(), e, dir, entries, all, header)
		},
	}
	s.defineDir(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "all that can be resumed; the others are named, and are no failure")
	header.define(cmd.Flags())
	return cmd
}

// resumeState runs the recorded commands. Those that cannot be resumed are a
// failure only if they were asked for by name.
func resumeState(ctx context.Context, e env, dir *journal.Dir, entries []journal.Entry, all bool, header secretHeader) error {
	code := exitOK
	for _, x := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if why := unresumable(x); why != "" {
			fmt.Fprintf(e.stderr, "chunkup: not resumed: %s\n", why)
			if !all {
				code = worst(code, exitFailed)
			}
			continue
		}
		again := e
		again.getenv = withoutVariables(e.getenv)
		again.args = append(slices.Clone(x.Record.Command[1:]), "--state-dir", dir.Path())
		if serviceOf(x.Record.Command) != "" {
			again.args = append(again.args, header.words()...)
		}
		code = worst(code, run(ctx, again))
	}
	if code != exitOK {
		return &toldError{code}
	}
	return nil
}

// withoutVariables is an environment that sets no flags: a recorded command has all
// that were set when the upload began.
func withoutVariables(getenv func(string) string) func(string) string {
	return func(name string) string {
		if strings.HasPrefix(name, variablePrefix) {
			return ""
		}
		return getenv(name)
	}
}

// oneService refuses to show several minting services what is for one of them.
func oneService(entries []journal.Entry, header secretHeader) error {
	var services []string
	for _, x := range entries {
		if unresumable(x) != "" {
			continue
		}
		if service := serviceOf(x.Record.Command); service != "" && !slices.Contains(services, service) {
			services = append(services, service)
		}
	}
	if len(header.lines) > 0 && len(services) > 1 {
		return usagef("--mint-header (or %s) is for one minting service, and these uploads are of %s: name those of one",
			variable("mint-header"), strings.Join(services, ", "))
	}
	return nil
}

// unresumable says why a journal cannot be resumed; empty if it can.
func unresumable(x journal.Entry) string {
	r := x.Record
	switch {
	case x.Err != nil:
		return sentence(x.Err)
	case x.Live:
		return fmt.Sprintf("%s is being uploaded right now", show(addressOf(r)))
	case r.Source.Path == "":
		return fmt.Sprintf("%s was uploaded from a stream, which cannot be read again", show(addressOf(r)))
	case r.State == journal.Aborting || r.State == journal.Orphaned:
		return fmt.Sprintf("%s was given up: chunkup uploads cleanup removes what is left of it", show(addressOf(r)))
	case !isCp(r.Command):
		return fmt.Sprintf("%s was not begun by this command", show(addressOf(r)))
	}
	return ""
}
