package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// How an object is read: so many bytes at once, so many times at once. Together
// that is the memory it takes, and as much again for the file.
const (
	rangeSize = 8 << 20
	rangesOut = 4
)

// compare downloads the object and compares it with the file. The whole of it is
// read from one version of the object.
func (r *remote) compare(ctx context.Context, file *chunker.File) error {
	object := multipart.Object{Bucket: r.dest.bucket, Key: r.dest.key}
	info, err := r.uploader.Head(ctx, object)
	if err != nil {
		return err
	}
	if info.Size != file.Size() {
		return &multipart.MismatchError{What: "size", Want: strconv.FormatInt(file.Size(), 10), Got: strconv.FormatInt(info.Size, 10)}
	}
	c := &comparison{file: file}
	c.first.Store(math.MaxInt64)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(rangesOut)
	for p := range (chunker.Plan{Size: info.Size, PartSize: rangeSize}).Parts() {
		// Ranges begin in their order: what differs in a later one is not asked for.
		if p.Size == 0 || ctx.Err() != nil || c.first.Load() < p.Offset {
			break
		}
		g.Go(func() error {
			got, err := r.uploader.ReadRange(ctx, object, info.ETag, p.Offset, p.Size)
			if err != nil {
				return fmt.Errorf("bytes %d to %d: %w", p.Offset, p.Offset+p.Size-1, err)
			}
			return c.hold(p, got)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return c.verdict()
}

// comparison finds the first byte in which an object and a file differ.
type comparison struct {
	file  *chunker.File
	first atomic.Int64 // where they differ; MaxInt64: not so far

	mu        sync.Mutex
	want, got byte // there
}

// hold holds what was read of the object against the file.
func (c *comparison) hold(p chunker.Part, got []byte) error {
	want := make([]byte, p.Size)
	if _, err := io.ReadFull(p.Reader(c.file), want); err != nil {
		return err
	}
	if int64(len(got)) != p.Size {
		return fmt.Errorf("the store sent %d of %d bytes at offset %d", len(got), p.Size, p.Offset)
	}
	if bytes.Equal(want, got) {
		return nil
	}
	i := 0
	for want[i] == got[i] {
		i++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := p.Offset + int64(i); at < c.first.Load() {
		c.first.Store(at)
		c.want, c.got = want[i], got[i]
	}
	return nil
}

// verdict is what came out once all is compared.
func (c *comparison) verdict() error {
	at := c.first.Load()
	if at == math.MaxInt64 {
		return nil
	}
	return &multipart.MismatchError{What: fmt.Sprintf("byte at offset %d", at), Want: fmt.Sprintf("%#02x", c.want), Got: fmt.Sprintf("%#02x", c.got)}
}
