package multipart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Verify proves that the object at the store holds the bytes of the source, by its
// size and by the checksum that the store names: a digest, a digest of the parts'
// digests, or an ETag that is an MD5. The source is read once for it, or once for
// each part size that is tried where the store says only how many parts there were.
//
// Errors: a *[MismatchError] if it holds others; [ErrUnproven] if the store names
// nothing that can be compared; *[Error] if it cannot be asked or the source not be
// read.
func (u *Uploader) Verify(ctx context.Context, o Object, src chunker.Source) error {
	plan, err := chunker.NewPlan(src.Size(), u.options.PartSize, u.control.Traits().Limits)
	if err != nil {
		return err
	}
	r := u.newRun(o, src, plan, nil)
	defer r.end()
	info, err := r.headAlone(ctx)
	if err != nil {
		return err
	}
	err = r.holds(ctx, info)
	if _, mismatch := errors.AsType[*MismatchError](err); err == nil || mismatch || errors.Is(err, ErrUnproven) {
		return err
	}
	return r.local(wire.Head, r.sourceError(err))
}

// holds holds what the store says of an object against the source.
func (r *run) holds(ctx context.Context, info Info) error {
	if size := r.source.Size(); info.Size != size {
		return &MismatchError{What: "size", Want: strconv.FormatInt(size, 10), Got: strconv.FormatInt(info.Size, 10)}
	}
	d := info.Digest
	if d.IsZero() {
		return r.holdsETag(ctx, info)
	}
	if info.Composite > 0 {
		return r.holdsComposite(ctx, d, info.Composite)
	}
	sum, err := r.sum(ctx, d.Algorithm())
	if err == nil && sum != d {
		err = &MismatchError{What: d.Algorithm().String(), Want: sum.Base64(), Got: d.Base64()}
	}
	return err
}

// md5ETag is an ETag that is an MD5, or one made of the MD5s of so many parts.
var md5ETag = regexp.MustCompile(`^"?([0-9a-fA-F]{32})(?:-([1-9][0-9]{0,4}))?"?$`)

// holdsETag compares by the ETag.
func (r *run) holdsETag(ctx context.Context, info Info) error {
	m := md5ETag.FindStringSubmatch(info.ETag)
	if m == nil || info.OpaqueETag || r.traits.OpaqueETag {
		return ErrUnproven
	}
	if m[2] == "" {
		sum, err := r.sum(ctx, chunker.MD5)
		if err == nil && !strings.EqualFold(sum.Hex(), m[1]) {
			err = &MismatchError{What: "ETag", Want: sum.Hex(), Got: m[1]}
		}
		return err
	}
	n, _ := strconv.Atoi(m[2]) // digits, by the pattern
	return r.holdsParts(ctx, chunker.MD5, n, func(d chunker.Digest) bool { return strings.EqualFold(d.Hex(), m[1]) })
}

func (r *run) holdsComposite(ctx context.Context, d chunker.Digest, n int) error {
	return r.holdsParts(ctx, d.Algorithm(), n, func(sum chunker.Digest) bool { return sum == d })
}

// holdsParts compares by a checksum of n parts' checksums. How large they were the
// store does not say: the part sizes that people use are tried.
func (r *run) holdsParts(ctx context.Context, a chunker.Algorithm, n int, same func(chunker.Digest) bool) error {
	tried := map[int64]bool{}
	for _, mib := range []int64{0, 16, 8, 5, 32, 64, 128, 10, 15, 25, 50, 100, 256, 512, 1024} {
		plan := chunker.Plan{Size: r.plan.Size, PartSize: mib << 20}
		if mib == 0 {
			plan = r.plan
		}
		if plan.Len() != n || tried[plan.PartSize] {
			continue
		}
		tried[plan.PartSize] = true
		digests, err := r.sumParts(ctx, a, plan)
		if err != nil {
			return err
		}
		if sum, err := chunker.Composite(digests); err == nil && same(sum) {
			return nil
		}
	}
	return fmt.Errorf("%w: its checksum is one of %d parts, and none of the usual part sizes gives it", ErrUnproven, n)
}

// sumChunk is how much is hashed at once where the pieces' digests combine.
const sumChunk = 64 << 20

// sum is the digest of the whole source.
func (r *run) sum(ctx context.Context, a chunker.Algorithm) (chunker.Digest, error) {
	plan := chunker.Plan{Size: r.source.Size(), PartSize: sumChunk}
	if !a.Combines() {
		plan.PartSize = max(plan.Size, 1)
	}
	digests, err := r.sumParts(ctx, a, plan)
	if err != nil || len(digests) == 1 {
		return append(digests, chunker.Digest{})[0], err
	}
	return chunker.Whole(plan, digests)
}

// sumParts are the digests of the source's parts, made by all processors.
func (r *run) sumParts(ctx context.Context, a chunker.Algorithm, plan chunker.Plan) ([]chunker.Digest, error) {
	digests := make([]chunker.Digest, plan.Len())
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for p := range plan.Parts() {
		g.Go(func() (err error) {
			digests[p.Number-1], err = chunker.Sum(&whileReader{ctx, p.Reader(r.source)}, a)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return digests, nil
}

// whileReader reads until its context ends.
type whileReader struct {
	ctx context.Context
	r   io.Reader
}

func (w *whileReader) Read(b []byte) (int, error) {
	if canceled(w.ctx) {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(b)
}
