package storetest

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// control runs a control call under the script.
func (m *Mem) control(ctx context.Context, op wire.Operation, effect func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := m.arrive(op, 0, false)
	if f == nil {
		return effect()
	}
	if f.Apply && f.Stall {
		effect()
	}
	if err := wait(ctx, f); err != nil {
		return err
	}
	if f.Apply {
		effect()
	}
	switch {
	case f.Status != 0:
		header := http.Header{"Retry-After": {f.RetryAfter}}
		e := wire.NewStoreError(f.Status, header, f.Code, f.Message)
		e.RequestID = "mem"
		return e
	case f.Reset:
		return syscall.ECONNRESET
	}
	return effect()
}

// wait holds a request back as its fault says.
func wait(ctx context.Context, f *Fault) error {
	if f.Stall {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	select {
	case <-time.After(f.Delay):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func refusal(status int, code, message string) error {
	return &wire.StoreError{Status: status, Code: code, Message: message, RequestID: "mem"}
}

// Create begins an upload.
func (m *Mem) Create(ctx context.Context, i multipart.Intent) (u multipart.Upload, err error) {
	err = m.control(ctx, wire.Create, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ids++
		u = multipart.Upload{Bucket: i.Bucket, Key: i.Key, ID: fmt.Sprintf("upload-%d", m.ids)}
		m.uploads[u.ID] = &upload{intent: i, parts: map[int]part{}}
		return nil
	})
	return u, err
}

// List returns the parts of an upload.
func (m *Mem) List(ctx context.Context, u multipart.Upload) (parts []multipart.Receipt, err error) {
	err = m.control(ctx, wire.List, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		up := m.uploads[u.ID]
		if up == nil {
			return refusal(404, "NoSuchUpload", "no such upload")
		}
		for _, p := range up.parts {
			parts = append(parts, p.receipt)
		}
		slices.SortFunc(parts, func(a, b multipart.Receipt) int { return cmp.Compare(a.Number, b.Number) })
		return nil
	})
	return parts, err
}

// Complete makes an object of the parts, as MinIO does: a second time it knows
// nothing of the upload.
func (m *Mem) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (info multipart.Info, err error) {
	err = m.control(ctx, wire.Complete, func() error {
		info, err = m.assemble(u, c)
		return err
	})
	return info, err
}

func (m *Mem) assemble(u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	up := m.uploads[u.ID]
	if up == nil {
		return multipart.Info{}, refusal(404, "NoSuchUpload", "no such upload")
	}
	var body []byte
	etags := md5.New()
	for _, want := range c.Parts {
		p, ok := up.parts[want.Number]
		if !ok || p.receipt.ETag != want.ETag || p.receipt.Digest != want.Digest {
			return multipart.Info{}, refusal(400, "InvalidPart", fmt.Sprintf("part %d", want.Number))
		}
		body = append(body, p.body...)
		etags.Write([]byte(p.receipt.ETag))
	}
	o := Object{Body: body, Header: up.intent.Header, ETag: fmt.Sprintf(`"%x-%d"`, etags.Sum(nil), len(c.Parts))}
	if up.intent.FullObject {
		o.Digest, _ = chunker.Sum(strings.NewReader(string(body)), up.intent.Algorithm)
	}
	if int64(len(body)) != c.Size || !c.Digest.IsZero() && c.Digest != o.Digest {
		return multipart.Info{}, refusal(400, "BadDigest", "size or checksum of the whole differ")
	}
	m.objects[u.Key] = o
	delete(m.uploads, u.ID)
	return multipart.Info{ETag: o.ETag, Digest: o.Digest}, nil
}

// Abort drops an upload.
func (m *Mem) Abort(ctx context.Context, u multipart.Upload) error {
	return m.control(ctx, wire.Abort, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.uploads, u.ID)
		return nil
	})
}

// Head says what is under a key.
func (m *Mem) Head(ctx context.Context, bucket, key string) (info multipart.Info, err error) {
	err = m.control(ctx, wire.Head, func() error {
		o, ok := m.Object(key)
		if !ok {
			return refusal(404, "NotFound", "")
		}
		info = multipart.Info{Size: int64(len(o.Body)), ETag: o.ETag, Digest: o.Digest, Metadata: map[string]string{}}
		for name, values := range o.Header {
			if key, ok := strings.CutPrefix(strings.ToLower(name), "x-amz-meta-"); ok {
				info.Metadata[key] = values[0]
			}
		}
		return nil
	})
	return info, err
}

func etagOf(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}
