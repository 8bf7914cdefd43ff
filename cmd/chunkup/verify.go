package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// newVerify is the command that holds an object against a file.
func newVerify(e env) *cobra.Command {
	var f remoteFlags
	var read bool
	cmd := &cobra.Command{
		Use:     "verify FILE s3://bucket/key",
		Short:   "Prove that an object holds the bytes of a file",
		Long:    verifyHelp,
		Example: verifyExamples,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			if d, err := parseDestination(args[1]); err == nil && d.isPrefix() {
				return usagef("%s names no object: give the whole key", show(args[1]))
			}
			file, err := chunker.OpenFile(args[0])
			if err != nil {
				return usagef("source: %w", err)
			}
			defer file.Close()
			return f.at(cmd.Context(), e, args[1], func(ctx context.Context, r *remote) error {
				return r.verify(ctx, newTeller(e.stdout, f.json), file, read)
			})
		},
	}
	f.define(cmd, verifyExits, []titled{
		{"Proof", func(set *pflag.FlagSet) {
			set.BoolVar(&read, "read", false, "download the object and compare every byte")
		}},
		{"Store", f.store.define},
		{"Deadlines", only(f.tuning.deadlines, readingDeadlines)},
		{"Retries", only(f.tuning.retries, askingRetries)},
	})
	return cmd
}

type verifyLine struct {
	line
	Source    string `json:"source"`
	Dest      string `json:"dest"`
	OK        bool   `json:"ok"`
	Exit      int    `json:"exit"`
	Size      int64  `json:"size"`
	By        string `json:"by"` // checksum or read
	ElapsedMS int64  `json:"elapsed_ms"`
	Error     string `json:"error"`
}

// verify tells whether the object holds the file's bytes.
func (r *remote) verify(ctx context.Context, t *teller, file *chunker.File, read bool) error {
	began, by, dest := time.Now(), "checksum", r.dest.address(r.dest.key)
	var err error
	if read {
		by = "read"
		err = r.compare(ctx, file)
	} else {
		err = r.uploader.Verify(ctx, multipart.Object{Bucket: r.dest.bucket, Key: r.dest.key}, file)
	}
	_, mismatch := errors.AsType[*multipart.MismatchError](err)
	switch {
	case err == nil:
		err = unchanged(file)
	case mismatch:
		err = fmt.Errorf("%s is not %s: %w", show(file.Name()), show(dest), err)
	case errors.Is(err, multipart.ErrUnproven):
		err = fmt.Errorf("%s: %w: --read compares the bytes", show(dest), err)
	}
	err = named(err, r.dest)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	l := verifyLine{head("verify", time.Now()), file.Name(), dest, err == nil, exitCode(err), file.Size(), by, time.Since(began).Milliseconds(), textOf(err)}
	if t.encode != nil || err == nil {
		t.tell(l, "equal %s = %s  %s, by %s", show(file.Name()), show(dest), formatSize(file.Size()), by)
	}
	return errors.Join(err, t.close())
}

// unchanged refuses a proof about a file that is another one by now.
func unchanged(file *chunker.File) error {
	if err := file.Changed(); err != nil {
		return fmt.Errorf("%w: %w", multipart.ErrSourceChanged, err)
	}
	return nil
}
