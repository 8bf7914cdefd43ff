package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
)

func newSandbox(e env) *cobra.Command {
	var o sandbox.Options
	cmd := &cobra.Command{
		Use:     "sandbox",
		Short:   "Serve an S3 store from a local folder",
		Long:    sandboxHelp,
		Example: sandboxExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			return serveSandbox(cmd.Context(), e, o)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	define(set, &o.Listen, label{"listen", "", "127.0.0.1:9100", "ADDRESS", "where to listen: an address of this machine only; port 0 takes a free one"}, anyText)
	define(set, &o.Dir, label{"dir", "", "./chunkup-sandbox", "FOLDER", "where the objects are kept, as plain files"}, anyText)
	define(set, &o.AccessKey, label{"access-key", "", "", "KEY", "access key id; random when not given"}, anyText)
	define(set, &o.SecretKey, label{"secret-key", "", "", "KEY", "secret access key; random when not given"}, anyText)
	set.StringArrayVar(&o.Buckets, "bucket", nil, "bucket to create at the start; repeats")
	return cmd
}

// serveSandbox runs until it is interrupted, which is how it is meant to end.
func serveSandbox(ctx context.Context, e env, o sandbox.Options) error {
	server, err := startSandbox(ctx, o)
	if err != nil {
		return err
	}
	if err := printEnvironment(e.stdout, server.Environment()); err != nil {
		return errors.Join(err, server.Close())
	}
	fmt.Fprintf(e.stderr, "serving %s at %s until interrupted\n", show(server.Dir()), server.URL())
	select {
	case <-ctx.Done():
		return server.Close()
	case <-server.Done():
		return fmt.Errorf("the sandbox ended by itself: %w", server.Err())
	}
}

// startSandbox tells what the user has to write differently from what failed.
func startSandbox(ctx context.Context, o sandbox.Options) (*sandbox.Server, error) {
	server, err := sandbox.Start(ctx, o)
	_, listen := errors.AsType[*sandbox.ListenError](err)
	_, bucket := errors.AsType[*sandbox.BucketNameError](err)
	if listen || bucket {
		return nil, usagef("%w", err)
	}
	return server, err
}

// printEnvironment writes lines that a shell can read.
func printEnvironment(w io.Writer, variables []string) error {
	for _, v := range variables {
		name, text, _ := strings.Cut(v, "=")
		if _, err := fmt.Fprintf(w, "export %s=%s\n", name, shellWord(text)); err != nil {
			return err
		}
	}
	return nil
}
