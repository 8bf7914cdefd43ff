package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Uploader uploads objects to one store. It is safe for concurrent use; the
// zero value is not usable, see [New].
type Uploader struct {
	control  Control
	provider *presign.Shared
	memory   *chunker.Memory
	options  Options
}

// New returns an uploader that makes its control calls through c and takes the
// request for each part from p. It makes no call itself; an error means that
// the options contradict themselves.
func New(c Control, p presign.Provider, o *Options) (*Uploader, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if t := c.Traits(); t.FullObject && !t.Algorithm.Combines() {
		return nil, fmt.Errorf("multipart: %v digests of parts do not combine into the whole object's", t.Algorithm)
	}
	return &Uploader{control: c, provider: presign.Share(p), memory: chunker.NewMemory(options.Memory), options: options}, nil
}

// Result is the receipt of a finished upload.
type Result struct {
	Object    Object
	Size      int64 // bytes
	Parts     int   // 0 for a single PUT
	PartSize  int64 // of the first part
	ETag      string
	VersionID string
	Digest    chunker.Digest // of the whole object, as computed here; zero if there is none

	Token    string // the object's metadata chunkup-token has it
	UploadID string // of the multipart upload; empty for a single PUT
	Resumed  int    // parts that the store had from an earlier run
	Existing bool   // it was there already, and equal: nothing was sent

	Attempts  int   // requests that carried bytes
	Retries   int   // of them, after the first of each part
	Requests  int   // all of them, control calls included
	Mints     int   // authorised requests asked for
	SentBytes int64 // put on the wire
	Elapsed   time.Duration
}

// UploadFile uploads the file at path. See [Uploader.Upload].
func (u *Uploader) UploadFile(ctx context.Context, o Object, path string) (Result, error) {
	f, err := chunker.OpenFile(path)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	return u.Upload(ctx, o, f)
}

// Upload uploads the source, which is read in place by many goroutines at once,
// and returns when the store has proved that it holds exactly these bytes, or
// when there is no hope. Wrap any io.ReaderAt with chunker.NewReaderAt.
//
// With [Options.Journal] an upload that an earlier call, in this process or
// another, has not finished goes on where that one ended, if it was of the same
// source and properties: the parts that the store lists are kept if their digests
// are those of the source's bytes now.
//
// Errors: *[Error] for what failed at the store or on the way to it, matching
// the cause (a *wire.StoreError, a *wire.DeadlineError, context.Canceled, …)
// and [ErrAttempts], [ErrElapsed], [ErrUnknownOutcome], [ErrSourceChanged],
// [ErrExists] or a *[MismatchError]; *chunker.LimitError for a size that the store
// cannot take; *breaker.OpenError if the endpoint is down; *journal.LockedError if
// another call uploads to the same destination, *journal.WriteError if nothing can
// be kept there. An upload that fails is kept for the next call if there is a
// journal and the failure may pass or be mended; else it is aborted at the store,
// on a context of its own ([Options.AbortTimeout]), unless its outcome is unknown.
func (u *Uploader) Upload(ctx context.Context, o Object, src chunker.Source) (Result, error) {
	if err := u.check(ctx, o); err != nil {
		return Result{}, err
	}
	plan, err := chunker.NewPlan(src.Size(), u.options.PartSize, u.control.Traits().Limits)
	if err != nil {
		return Result{}, err
	}
	single := (plan.Size < u.options.Threshold || plan.Size == 0) && !u.control.Traits().PartsOnly
	state, err := u.claim(o, src, plan, single)
	if err != nil {
		return Result{}, err
	}
	switch {
	case state.goesOn():
		plan, single = state.found.Plan, false
	case single:
		plan.PartSize = max(plan.Size, 1)
	}
	r := u.newRun(o, src, plan, state)
	defer r.end()
	r.teller.tell(Event{Kind: Planned, Plan: plan})
	err = r.uploadSource(ctx, single)
	return r.result(), err
}

// check refuses what cannot be asked of this store.
func (u *Uploader) check(ctx context.Context, o Object) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o.CreateOnly && !u.control.Traits().CreateOnly {
		return errors.New("this store is not known to refuse to replace an object: an upload that may only create one is not possible")
	}
	return o.validate()
}

// Resume goes on with the upload of a file that a journal tells of, as
// [Uploader.UploadFile] would with the same object.
func (u *Uploader) Resume(ctx context.Context, r journal.Record) (Result, error) {
	if endpoint := u.control.Traits().Endpoint; r.Endpoint != endpoint {
		return Result{}, fmt.Errorf("s3://%s/%s was uploaded to %s, and this is %s", r.Bucket, r.Key, r.Endpoint, endpoint)
	}
	if r.Source.Path == "" {
		return Result{}, fmt.Errorf("s3://%s/%s was uploaded from a stream, which cannot be read again", r.Bucket, r.Key)
	}
	return u.UploadFile(ctx, Object{Bucket: r.Bucket, Key: r.Key, Header: r.Header, Metadata: r.Metadata,
		CreateOnly: r.Conditional, Command: r.Command}, r.Source.Path)
}

// endpoint is what an upload to the bucket shares with others.
func (u *Uploader) endpoint(bucket string) *Endpoint {
	if u.options.Endpoint != nil {
		return u.options.Endpoint
	}
	return DefaultEndpoints.Get(u.control.Traits().Endpoint, bucket)
}

// uploadSource is the upload of a source, from a look at what there is to the end.
func (r *run) uploadSource(ctx context.Context, single bool) error {
	r.heard()
	there, err := r.isThere(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrExists):
		return r.leave(err)
	case there || err != nil:
		r.dropFound(ctx)
	case single:
		r.dropFound(ctx)
		err = r.putObject(ctx, r.source)
	default:
		err = r.uploadParts(ctx)
	}
	return r.conclude(ctx, err)
}

// uploadParts is an upload from create to complete. One that vanishes under way, or
// that the store has spoilt over an earlier completion, is begun again, once.
func (r *run) uploadParts(ctx context.Context) error {
	done, err := r.begin(ctx)
	if done || err != nil {
		return err
	}
	err = r.finish(ctx)
	if isGone(err) {
		r.warn(fmt.Errorf("upload %s is of no use any more: a new one is begun (%w)", r.upload.ID, err))
		r.drop(ctx)
		r.anew()
		r.unfollow()
		r.parts.forget()
		r.progress.done.Store(0)
		r.mu.Lock()
		r.stats.Resumed = 0
		r.mu.Unlock()
		if err = r.start(ctx); err == nil {
			err = r.finish(ctx)
		}
	}
	return err
}

// isGone tells that the upload does not exist any more, or that the store asks for
// another one.
func isGone(err error) bool {
	if _, spoilt := errors.AsType[*spoiltError](err); spoilt {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	return e.Op == wire.PutPart && isNoUpload(e.Err) || e.Op == wire.Complete && codeOf(e.Err) == "ConditionalRequestConflict"
}

// isNoUpload tells that the store does not know the upload. A 404 without a code may
// be a proxy's.
func isNoUpload(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) == "NoSuchUpload"
}

// finish sends the parts and makes the object of them.
func (r *run) finish(ctx context.Context) error {
	if err := r.sendAll(ctx); err != nil {
		return err
	}
	if changed := r.proveSource(ctx, wire.Complete); changed != nil {
		return changed
	}
	return r.complete(ctx)
}
