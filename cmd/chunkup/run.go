package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// env is what the command has of the world, so that tests can give it another.
// (The AWS SDK reads the process's environment by itself.)
type env struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	terminal       func(io.Writer) bool
	begun          *inFlight // what is left if the process ends now
	collect        func(percent int)
}

// run runs the command and returns its exit code. ctx ends with errInterrupted
// as its cause when the user interrupts.
func run(ctx context.Context, e env) int {
	if e.begun == nil {
		e.begun = &inFlight{} // nobody will ask
	}
	if e.collect == nil {
		e.collect = func(int) {} // the process is not ours
	}
	root := newRoot(e)
	root.SetArgs(e.args)
	err := root.ExecuteContext(ctx)
	if _, told := err.(*toldError); err != nil && !told {
		fmt.Fprintln(e.stderr, "chunkup:", sentence(err))
	}
	return exitCode(err)
}

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use:           "chunkup",
		Short:         "Upload large files to S3 and to the stores that speak it",
		Long:          rootHelp,
		Example:       rootExamples,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: see chunkup --help", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return usagef("no command given: see chunkup --help")
		},
	}
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", flagError(err), cmd.CommandPath())
	})
	root.AddCommand(newCp(e), newState(e), newUploads(e), newVerify(e), newMint(e), newSandbox(e))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.RunE == nil {
			c.RunE = func(cmd *cobra.Command, _ []string) error {
				if cmd.Name() == "completion" {
					return usagef("no shell given: see %s --help", cmd.CommandPath())
				}
				return usagef("say what to do: see %s --help", cmd.CommandPath())
			}
		}
		refuseArguments(c)
	}
	return root
}

// refuseArguments makes a usage error of what cobra says about arguments.
func refuseArguments(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w (see %s --help)", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		refuseArguments(sub)
	}
}

// sentence is an error's text on one line.
func sentence(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
