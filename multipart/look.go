package multipart

import (
	"context"
	"errors"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
)

// ErrUnsupported means that the store's [Control] cannot do what was asked.
var ErrUnsupported = errors.New("this control plane cannot do that")

// Uploads lists the unfinished uploads of keys that begin with the prefix. The control
// plane must be an [UploadLister], else the error is [ErrUnsupported]. Errors are those
// of [Uploader.Upload].
func (u *Uploader) Uploads(ctx context.Context, bucket, prefix string) (list []Unfinished, err error) {
	lister, ok := u.control.(UploadLister)
	if !ok {
		return nil, ErrUnsupported
	}
	err = u.look(ctx, wire.ListUploads, Object{Bucket: bucket, Key: prefix}, 0, func(ctx context.Context) (err error) {
		list, err = lister.ListUploads(ctx, bucket, prefix)
		return err
	})
	return list, err
}

// Parts lists the parts of an unfinished upload. Errors are those of [Uploader.Upload].
func (u *Uploader) Parts(ctx context.Context, up Upload) (list []Receipt, err error) {
	err = u.look(ctx, wire.List, Object{Bucket: up.Bucket, Key: up.Key}, 0, func(ctx context.Context) (err error) {
		list, err = u.control.List(ctx, up)
		return err
	})
	return list, err
}

// Head says what is under a key. Errors are those of [Uploader.Upload].
func (u *Uploader) Head(ctx context.Context, o Object) (info Info, err error) {
	err = u.look(ctx, wire.Head, o, 0, func(ctx context.Context) (err error) {
		info, err = u.control.Head(ctx, o.Bucket, o.Key)
		return err
	})
	return info, err
}

// ReadRange reads size bytes of an object from offset on, as [RangeReader] says. The
// control plane must be one, else the error is [ErrUnsupported]. Other errors are those
// of [Uploader.Upload].
func (u *Uploader) ReadRange(ctx context.Context, o Object, etag string, offset, size int64) (data []byte, err error) {
	reader, ok := u.control.(RangeReader)
	if !ok {
		return nil, ErrUnsupported
	}
	err = u.look(ctx, wire.ReadRange, o, size, func(ctx context.Context) (err error) {
		data, err = reader.ReadRange(ctx, o.Bucket, o.Key, etag, offset, size)
		return err
	})
	return data, err
}

// look makes a call that changes nothing, with the retries of an upload.
func (u *Uploader) look(ctx context.Context, op wire.Operation, o Object, size int64, f func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := u.newRun(o, nil, chunker.Plan{PartSize: size}, nil)
	defer r.end()
	c := r.newCall(op, 0, size)
	defer c.pay.End()
	c.first = true
	return r.do(ctx, c, func(ctx context.Context) result { return controlResult(f(ctx)) })
}
