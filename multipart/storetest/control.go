package storetest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

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
		m.uploads[u.ID] = &upload{intent: i, begun: time.Now(), parts: map[int]part{}}
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

// ListUploads returns the unfinished uploads, of each key in the order in which
// they were begun.
func (m *Mem) ListUploads(ctx context.Context, bucket, prefix string) (uploads []multipart.Unfinished, err error) {
	err = m.control(ctx, wire.ListUploads, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for id, up := range m.uploads {
			if up.intent.Bucket == bucket && strings.HasPrefix(up.intent.Key, prefix) {
				uploads = append(uploads, multipart.Unfinished{Initiated: up.begun, Listed: time.Now(),
					Upload: multipart.Upload{Bucket: bucket, Key: up.intent.Key, ID: id}})
			}
		}
		slices.SortFunc(uploads, func(a, b multipart.Unfinished) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), a.Initiated.Compare(b.Initiated), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
		})
		return nil
	})
	return uploads, err
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
