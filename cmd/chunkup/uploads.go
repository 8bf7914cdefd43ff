package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// newUploads is the command about unfinished uploads at a store.
func newUploads(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "uploads",
		Short:   "List, abort and clean up unfinished uploads at a store",
		Long:    uploadsHelp,
		Example: uploadsExamples,
		Args:    refuseSubcommand,
	}
	cmd.AddCommand(newUploadsLs(e), newUploadsAbort(e), newUploadsCleanup(e))
	return cmd
}

func newUploadsLs(e env) *cobra.Command {
	var f remoteFlags
	cmd := &cobra.Command{
		Use:     "ls s3://bucket[/prefix]",
		Short:   "List the unfinished uploads",
		Long:    uploadsLsHelp,
		Example: uploadsLsExamples,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			return f.at(cmd.Context(), e, args[0], func(ctx context.Context, r *remote) error {
				return r.listUploads(ctx, newTeller(e.stdout, f.json))
			})
		},
	}
	f.define(cmd, remoteExits)
	return cmd
}

type uploadLine struct {
	line
	Dest      string `json:"dest"`
	UploadID  string `json:"upload_id"`
	Initiated string `json:"initiated"`
	AgeMS     int64  `json:"age_ms"`
	Owner     string `json:"owner"`
	Journal   string `json:"journal"`
}

func (r *remote) newUploadLine(kind string, u multipart.Unfinished, o owner) uploadLine {
	return uploadLine{head(kind, time.Now()), r.dest.address(u.Key), u.ID, u.Initiated.UTC().Format(time.RFC3339),
		time.Since(u.Initiated).Milliseconds(), o.kind, o.path}
}

// listUploads prints the unfinished uploads and who owns them.
func (r *remote) listUploads(ctx context.Context, t *teller) error {
	uploads, err := r.unfinished(ctx)
	if err != nil {
		return err
	}
	owners, err := r.owners()
	if err != nil {
		return err
	}
	for _, u := range uploads {
		o := owners.of(u.Upload)
		t.tell(r.newUploadLine("upload", u, o), "%s  %s  %s (%s ago)  %s",
			show(r.dest.address(u.Key)), u.ID, u.Initiated.UTC().Format(time.RFC3339), age(u.Initiated), o.kind)
	}
	return t.close()
}

// unfinished asks the store for its unfinished uploads.
func (r *remote) unfinished(ctx context.Context) (uploads []multipart.Unfinished, err error) {
	lister, ok := r.control.(multipart.UploadLister)
	if !ok {
		return nil, usagef("this store cannot list unfinished uploads")
	}
	err = r.persist(ctx, wire.ListUploads, func(ctx context.Context) error {
		uploads, err = lister.ListUploads(ctx, r.dest.bucket, r.dest.key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the uploads of %s: %w", show(r.dest.address(r.dest.key)), err)
	}
	return uploads, nil
}

func newUploadsAbort(e env) *cobra.Command {
	var f remoteFlags
	var id string
	cmd := &cobra.Command{
		Use:     "abort s3://bucket/key --upload-id ID",
		Short:   "Drop one unfinished upload and its parts",
		Long:    uploadsAbortHelp,
		Example: uploadsAbortExamples,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			if id == "" {
				return usagef("say which upload with --upload-id: chunkup uploads ls lists them")
			}
			return f.at(cmd.Context(), e, args[0], func(ctx context.Context, r *remote) error {
				return r.abortUpload(ctx, newTeller(e.stdout, f.json), id)
			})
		},
	}
	f.define(cmd, remoteExits, titled{"Upload", func(set *pflag.FlagSet) {
		define(set, &id, label{"upload-id", "", "", "ID", "the upload, as the store named it"}, anyText)
	}})
	return cmd
}

type abortedLine struct {
	line
	Dest     string `json:"dest"`
	UploadID string `json:"upload_id"`
}

// abortUpload drops one upload, and its journal.
func (r *remote) abortUpload(ctx context.Context, t *teller, id string) error {
	if r.dest.isPrefix() {
		return usagef("%s names no object: give the whole key", show(r.dest.address(r.dest.key)))
	}
	if err := r.uploader.Abort(ctx, multipart.Upload{Bucket: r.dest.bucket, Key: r.dest.key, ID: id}); err != nil {
		return err
	}
	dest := r.dest.address(r.dest.key)
	t.tell(abortedLine{head("aborted", time.Now()), dest, id}, "aborted %s  %s", show(dest), id)
	return t.close()
}

func newUploadsCleanup(e env) *cobra.Command {
	var f remoteFlags
	c := cleanup{}
	cmd := &cobra.Command{
		Use:     "cleanup s3://bucket[/prefix]",
		Short:   "Drop the unfinished uploads that nobody goes on with",
		Long:    uploadsCleanupHelp,
		Example: uploadsCleanupExamples,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			return f.at(cmd.Context(), e, args[0], func(ctx context.Context, r *remote) error {
				c.remote, c.teller = r, newTeller(e.stdout, f.json)
				return errors.Join(c.run(ctx), c.teller.close())
			})
		},
	}
	f.define(cmd, remoteExits, titled{"Cleanup", func(set *pflag.FlagSet) {
		define(set, &c.maxAge, label{"max-age", "", "24h", "DURATION", "younger uploads stay, unless a journal here says that they were given up"}, zeroOrLonger)
		set.BoolVarP(&c.rehearse, "dry-run", "n", false, "say what would be dropped, drop nothing")
	}})
	return cmd
}
