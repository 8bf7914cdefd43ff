package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// The placeholders of a destination's key.
const (
	holdSHA256 = "{sha256}" // of the content, in hexadecimal digits
	holdName   = "{name}"   // of the file, with its extension
	holdExt    = "{ext}"    // of the file, without the dot; may be empty
	holdBrace  = "{lbrace}" // a brace that begins no placeholder
)

var (
	placeholder  = regexp.MustCompile(`\{[a-z0-9]+\}`)
	placeholders = []string{holdSHA256, holdName, holdExt, holdBrace}
)

// checkPlaceholders refuses a key that asks for what is not known.
func checkPlaceholders(key string) error {
	for _, p := range placeholder.FindAllString(key, -1) {
		if !slices.Contains(placeholders, p) {
			return usagef("unknown placeholder %s: use one of %s", p, strings.Join(placeholders, ", "))
		}
	}
	return nil
}

// needs tells whether a key has a placeholder.
func needs(key, hold string) bool {
	return slices.Contains(placeholder.FindAllString(key, -1), hold)
}

// fill puts what is known of a source in the place of the placeholders.
func fill(key, source, sha256 string) string {
	return placeholder.ReplaceAllStringFunc(key, func(hold string) string {
		switch hold {
		case holdSHA256:
			return sha256
		case holdName:
			return filepath.Base(source)
		case holdExt:
			return extension(filepath.Base(source))
		}
		return "{" // holdBrace: checkPlaceholders lets no other pass
	})
}

// literal spells a key so that fill returns it.
func literal(key string) string {
	return placeholder.ReplaceAllStringFunc(key, func(hold string) string { return holdBrace + hold[1:] })
}

// extension is what follows the last dot of a file's name. A dot at the
// beginning hides a file and separates nothing.
func extension(name string) string {
	return strings.TrimPrefix(filepath.Ext(strings.TrimLeft(name, ".")), ".")
}

// hashFile is the SHA-256 of a file that stays what it is meanwhile.
func hashFile(ctx context.Context, path string) (digest chunker.Digest, was chunker.Identity, err error) {
	file, err := chunker.OpenFile(path)
	if err != nil {
		return digest, was, usagef("source: %w", err)
	}
	defer file.Close()
	whole := chunker.Part{Size: file.Size()}.Reader(file)
	if digest, err = chunker.Sum(interruptible{ctx, whole}, chunker.SHA256); err == nil {
		err = unchanged(file)
	}
	return digest, file.Identity(), err
}

// interruptible is a reader that ends with a context.
type interruptible struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(b)
}

// pinned is a file that was hashed for its key: once it changes it cannot be
// read any more, so that no object is made whose key is another's.
type pinned struct{ *chunker.File }

// ReadAt implements io.ReaderAt.
func (p pinned) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.File.ReadAt(b, off)
	if changed := unchanged(p.File); changed != nil {
		return 0, changed
	}
	return n, err
}

// openPinned opens a file again that was hashed before.
func openPinned(path string, was chunker.Identity) (pinned, error) {
	file, err := chunker.OpenFile(path)
	if err != nil {
		return pinned{}, err
	}
	if file.Identity() != was {
		file.Close()
		return pinned{}, fmt.Errorf("%w: %s has other bytes than its key was made from", multipart.ErrSourceChanged, show(path))
	}
	return pinned{file}, nil
}
