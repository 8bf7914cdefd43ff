package storetest

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Complete makes an object of the parts, as MinIO does: a second time it knows
// nothing of the upload, and a condition comes before that.
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
	_, exists := m.objects[u.Key]
	switch {
	case exists && c.CreateOnly && m.traits.CreateOnly:
		return multipart.Info{}, refusal(412, "PreconditionFailed", "there is an object")
	case up == nil:
		return multipart.Info{}, refusal(404, "NoSuchUpload", "no such upload")
	}
	parts := make([]part, len(c.Parts))
	for i, want := range c.Parts {
		p, ok := up.parts[want.Number]
		if !ok || p.receipt.ETag != want.ETag || p.receipt.Digest != want.Digest && !p.receipt.Digest.IsZero() {
			return multipart.Info{}, refusal(400, "InvalidPart", fmt.Sprintf("part %d", want.Number))
		}
		parts[i] = p
	}
	o := m.join(parts, up.intent)
	if int64(len(o.believed)) != c.Size || !c.Digest.IsZero() && c.Digest != o.Digest {
		return multipart.Info{}, refusal(400, "BadDigest", "size or checksum of the whole differ")
	}
	m.objects[u.Key] = o
	delete(m.uploads, u.ID)
	info := multipart.Info{ETag: o.ETag, Digest: o.Digest, Composite: o.Composite}
	m.edit(wire.Complete, &info)
	return info, nil
}

// join makes the object that S3 makes: the ETag is the MD5 of the parts' MD5s,
// and so is a composite checksum.
func (m *Mem) join(parts []part, i multipart.Intent) Object {
	var body, believed []byte
	etags := md5.New()
	digests := make([]chunker.Digest, len(parts))
	for n, p := range parts {
		believed = append(believed, p.believed...)
		if m.Tamper != nil {
			body = append(body, p.body...)
		}
		sum, _ := hex.DecodeString(strings.Trim(p.receipt.ETag, `"`))
		etags.Write(sum)
		digests[n] = p.receipt.Digest
	}
	if m.Tamper == nil {
		body = believed
	}
	body, believed = m.tamper(wire.Complete, 0, body, believed)
	o := Object{Body: body, believed: believed, Header: i.Header, ETag: fmt.Sprintf(`"%x-%d"`, etags.Sum(nil), len(parts))}
	switch {
	case i.FullObject:
		o.Digest, _ = chunker.Sum(bytes.NewReader(believed), i.Algorithm)
	case declared(i.Algorithm):
		o.Digest, _ = chunker.Composite(digests)
		o.Composite = len(parts)
	}
	return o
}

// tamper returns what is stored of a body, and what the store takes it for.
func (m *Mem) tamper(op wire.Operation, part int, body, believed []byte) (stored, said []byte) {
	if m.Tamper != nil {
		body = m.Tamper(op, part, bytes.Clone(body))
	}
	if m.Confess {
		believed = body
	}
	return body, believed
}

func (m *Mem) edit(op wire.Operation, info *multipart.Info) {
	if m.EditInfo != nil {
		m.EditInfo(op, info)
	}
}

// Head says what is under a key.
func (m *Mem) Head(ctx context.Context, bucket, key string) (info multipart.Info, err error) {
	err = m.control(ctx, wire.Head, func() error {
		o, ok := m.Object(key)
		if !ok {
			return refusal(404, "NotFound", "")
		}
		info = multipart.Info{Size: o.size(), ETag: o.ETag, Digest: o.Digest, Composite: o.Composite, Metadata: map[string]string{}}
		for name, values := range o.Header {
			if key, ok := strings.CutPrefix(strings.ToLower(name), "x-amz-meta-"); ok {
				info.Metadata[key] = values[0]
			}
		}
		m.edit(wire.Head, &info)
		return nil
	})
	return info, err
}

// size is what the store takes the body's for.
func (o Object) size() int64 {
	if o.believed != nil {
		return int64(len(o.believed))
	}
	return int64(len(o.Body))
}

// ReadRange reads what is stored, whatever the store says of it.
func (m *Mem) ReadRange(ctx context.Context, bucket, key, etag string, offset, size int64) (data []byte, err error) {
	err = m.control(ctx, wire.ReadRange, func() error {
		o, ok := m.Object(key)
		length := int64(len(o.Body))
		switch {
		case !ok:
			return refusal(404, "NoSuchKey", "")
		case etag != "" && etag != o.ETag:
			return refusal(412, "PreconditionFailed", "the object has another ETag")
		case offset < 0 || size <= 0 || offset >= length:
			return refusal(416, "InvalidRange", "there is nothing")
		}
		data = bytes.Clone(o.Body[offset:min(offset+size, length)])
		return nil
	})
	return data, err
}

// declared tells the digests that S3 knows as checksums of an upload.
func declared(a chunker.Algorithm) bool { return a != chunker.None && a != chunker.MD5 }

func etagOf(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}
