package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
)

// cleanup is one run of uploads cleanup.
type cleanup struct {
	*remote
	*teller
	maxAge   time.Duration
	rehearse bool
}

type removedLine struct {
	uploadLine
	DryRun bool   `json:"dry_run"`
	Error  string `json:"error"`
}

// run drops what is old and nobody's, what was given up, and the journals that
// are about nothing then.
func (c *cleanup) run(ctx context.Context) error {
	uploads, err := c.uploader.Uploads(ctx, c.dest.bucket, c.dest.key)
	if err != nil {
		return err
	}
	journals, err := c.owners()
	if err != nil {
		return err
	}
	lost := c.nameless(ctx, uploads, journals)
	failed := map[string]bool{} // by key
	for _, u := range uploads {
		o := journals.of(u.Upload)
		switch {
		case o.kind == ownedLive, o.kind == ownedKept:
			continue
		case o.kind == ownedNone && !lost[u.ID] && time.Since(u.Initiated) < c.maxAge:
			continue
		}
		if dropErr := c.drop(ctx, u, o); dropErr != nil {
			failed[u.Key] = true
			err = errors.Join(err, dropErr)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return errors.Join(err, c.settle(journals, failed))
}

// drop aborts one upload and says so.
func (c *cleanup) drop(ctx context.Context, u multipart.Unfinished, o owner) error {
	verb, err := "would remove", error(nil)
	if !c.rehearse {
		verb, err = "removed", c.abort(ctx, u.Upload)
	}
	l := removedLine{c.newUploadLine("removed", u, o), c.rehearse, textOf(err)}
	if err != nil {
		l.Type = "kept"
		if c.encode != nil {
			c.tell(l, "")
		}
		return fmt.Errorf("upload %s of %s: %w", u.ID, show(c.dest.address(u.Key)), err)
	}
	c.tell(l, "%s %s  %s  begun %s ago", verb, show(c.dest.address(u.Key)), u.ID, age(u.Initiated))
	return nil
}

// nameless finds the uploads whose ids nobody has learned: of the very key of an
// orphaned journal, begun when that says, without a single part.
func (c *cleanup) nameless(ctx context.Context, uploads []multipart.Unfinished, journals owners) map[string]bool {
	found := map[string]bool{}
	for _, x := range journals.here {
		r := x.Record
		if x.Live || r.State != journal.Orphaned || r.UploadID != "" {
			continue
		}
		for _, u := range uploads {
			if multipart.IsNameless(u, r) && c.isEmpty(ctx, u.Upload) {
				found[u.ID] = true
			}
		}
	}
	return found
}

// isEmpty tells that the store has no part of an upload.
func (c *cleanup) isEmpty(ctx context.Context, u multipart.Upload) bool {
	parts, err := c.uploader.Parts(ctx, u)
	return err == nil && len(parts) == 0
}

// settle removes the journals of uploads that were given up and are gone.
func (c *cleanup) settle(journals owners, failed map[string]bool) (err error) {
	for _, x := range journals.here {
		if c.rehearse || x.Live || !givenUp(x.Record) || failed[x.Record.Key] || !strings.HasPrefix(x.Record.Key, c.dest.key) {
			continue
		}
		claim, claimErr := c.journals.ClaimEntry(x.Path)
		if claimErr != nil {
			_, locked := errors.AsType[*journal.LockedError](claimErr) // somebody has begun anew
			if !locked && !errors.Is(claimErr, fs.ErrNotExist) {       // gone with its upload
				err = errors.Join(err, claimErr)
			}
			continue
		}
		if r, ok := claim.Record(); ok && !(givenUp(r) && r.UploadID == x.Record.UploadID) {
			err = errors.Join(err, claim.Release())
			continue
		}
		err = errors.Join(err, claim.Remove())
	}
	return err
}
