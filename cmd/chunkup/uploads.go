package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
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
	f.defineUploads(cmd)
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
	uploads, err := r.uploader.Uploads(ctx, r.dest.bucket, r.dest.key)
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
	f.defineUploads(cmd, titled{"Upload", func(set *pflag.FlagSet) {
		define(set, &id, label{"upload-id", "", "", "ID", "the upload, as the store named it"}, anyText)
	}}, titled{"Minting service", f.store.mint.define})
	return cmd
}

type abortedLine struct {
	line
	Dest     string `json:"dest"`
	UploadID string `json:"upload_id"`
	Gone     bool   `json:"gone"` // before it was asked for
}

// abortUpload drops one upload, and its journal.
func (r *remote) abortUpload(ctx context.Context, t *teller, id string) error {
	if r.dest.isPrefix() {
		return usagef("%s names no object: give the whole key", show(r.dest.address(r.dest.key)))
	}
	upload := multipart.Upload{Bucket: r.dest.bucket, Key: r.dest.key, ID: id}
	gone, err := r.isGone(ctx, upload)
	if err != nil {
		return err
	}
	if err := r.abort(ctx, upload); err != nil {
		return err
	}
	dest, said := r.dest.address(r.dest.key), "aborted %s  %s"
	if gone {
		said = "not there (any more): %s  %s"
	}
	t.tell(abortedLine{head("aborted", time.Now()), dest, id, gone}, said, show(dest), show(id))
	return t.close()
}

// isGone tells that the store does not know an upload. One that it will not show can
// be there; any other failure, a bucket that does not exist among them, is one.
func (r *remote) isGone(ctx context.Context, u multipart.Upload) (bool, error) {
	_, err := r.uploader.Parts(ctx, u)
	e, refused := errors.AsType[*wire.StoreError](err)
	switch {
	case refused && e.Status == http.StatusNotFound && e.Code == "NoSuchUpload":
		return true, nil
	case denied(err):
		return false, nil
	}
	return false, err
}

// abort drops an upload, unless a process is at work on it, under whatever name of the
// store.
func (r *remote) abort(ctx context.Context, u multipart.Upload) error {
	if err := r.refuseLive(u); err != nil {
		return err
	}
	return r.uploader.Abort(ctx, u)
}

func (r *remote) refuseLive(u multipart.Upload) error {
	journals, err := r.owners()
	if err != nil {
		return err
	}
	if o := journals.of(u); o.kind == ownedLive {
		return &journal.LockedError{Path: o.path, PID: o.pid}
	}
	return nil
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
	f.defineUploads(cmd, titled{"Cleanup", func(set *pflag.FlagSet) {
		define(set, &c.maxAge, label{"max-age", "", "24h", "DURATION", "younger uploads stay, unless a journal here says that they were given up"}, zeroOrLonger)
		set.BoolVarP(&c.rehearse, "dry-run", "n", false, "say what would be dropped, drop nothing")
	}})
	return cmd
}
