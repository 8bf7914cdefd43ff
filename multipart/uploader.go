package multipart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// Uploader uploads objects to one store. It is safe for concurrent use; the
// zero value is not usable, see [New].
type Uploader struct {
	control  Control
	provider *presign.Shared
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
	return &Uploader{control: c, provider: presign.Share(p), options: options}, nil
}

// Result is a finished upload.
type Result struct {
	Object    Object
	Size      int64 // bytes
	Parts     int   // 0 for a single PUT
	PartSize  int64
	ETag      string
	VersionID string
	Digest    chunker.Digest // of the whole object, as computed here; zero if there is none

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
// Errors: *[Error] for what failed at the store or on the way to it, matching
// the cause (a *wire.StoreError, a *wire.DeadlineError, context.Canceled, …)
// and [ErrAttempts], [ErrElapsed], [ErrUnknownOutcome], [ErrSourceChanged] or a
// *[MismatchError]; *chunker.LimitError for a size that the store cannot take;
// *breaker.OpenError if the endpoint is down. An upload that fails is aborted
// at the store, on a context of its own (1 s after a cancel, else 30 s beyond
// what the store asked to be left alone for), unless its outcome is unknown.
func (u *Uploader) Upload(ctx context.Context, o Object, src chunker.Source) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err := o.validate(); err != nil {
		return Result{}, err
	}
	plan, err := chunker.NewPlan(src.Size(), u.options.PartSize, u.control.Traits().Limits)
	if err != nil {
		return Result{}, err
	}
	single := plan.Size < u.options.Threshold || plan.Size == 0
	if single {
		plan.PartSize = max(plan.Size, 1)
	}
	r := u.newRun(o, src, plan)
	defer r.end()
	if single {
		err = r.putObject(ctx)
	} else {
		err = r.uploadParts(ctx)
	}
	return r.result(), err
}

// endpoint is what an upload to the bucket shares with others.
func (u *Uploader) endpoint(bucket string) *Endpoint {
	if u.options.Endpoint != nil {
		return u.options.Endpoint
	}
	return DefaultEndpoints.Get(u.control.Traits().Endpoint, bucket)
}

// uploadParts is an upload from create to complete.
func (r *run) uploadParts(ctx context.Context) error {
	if err := r.create(ctx); err != nil {
		return err
	}
	err := r.sendAll(ctx)
	if err == nil {
		if changed := r.proveSource(ctx, wire.Complete); changed != nil {
			err = changed
		} else {
			err = r.complete(ctx)
		}
	}
	if err != nil && !errors.Is(err, ErrUnknownOutcome) {
		err = r.abort(ctx, err)
	}
	return err
}
