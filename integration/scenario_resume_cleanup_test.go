//go:build unix

package integration

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// begin begins an upload that is somebody else's, past the proxy, with a part or
// without.
func (l *resumeLab) begin(t *testing.T, key string, part bool) (id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	up, err := l.server.Client().CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &l.bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	if part {
		n := int32(1)
		_, err = l.server.Client().UploadPart(ctx, &s3.UploadPartInput{Bucket: &l.bucket, Key: &key, UploadId: up.UploadId, PartNumber: &n, Body: bytes.NewReader([]byte("x"))})
		if err != nil {
			t.Fatal(err)
		}
	}
	return *up.UploadId
}

// A server that was starting up answered CREATE with a code of its own, and the
// upload failed (R36, https://github.com/minio/minio/issues/9452). CREATE is tried
// again, and an upload that an attempt without an answer has left is written down:
// the cleanup drops exactly that, as young as it is.
func TestR36OrphanIsCleanedUp(t *testing.T) {
	l := newResumeLab(t, command(t),
		faultproxy.Rule{Op: faultproxy.Create, Status: 503, Code: "XMinioServerNotInitialized"},
		faultproxy.Rule{Op: faultproxy.Create, From: 2, Apply: true, Reset: true})
	src := check.Random(t, 24*mib)
	theirs, other := l.begin(t, "key", true), l.begin(t, "key2", false)
	l.run(t, l.cp(check.TempFile(t, src))...)
	check.Equal(t, l.server.Client(), l.bucket, "key", src, src.Size())
	if n := l.proxy.Count(faultproxy.Create); n != 3 {
		t.Errorf("CREATE was sent %d times, want 3", n)
	}
	open := slices.DeleteFunc(l.uploads(t, "key"), func(id string) bool { return id == theirs })
	kept := l.journals(t)
	if len(open) != 1 || len(kept) != 1 || kept[0].Record.State != journal.Orphaned || kept[0].Record.UploadID != "" {
		t.Fatalf("orphans %v, journals %+v", open, kept)
	}
	r := l.run(t, "uploads", "cleanup", "--state-dir", l.state, l.dest())
	if !bytes.Contains(r.stdout.Bytes(), []byte(open[0])) || bytes.Contains(r.stdout.Bytes(), []byte(theirs)) {
		t.Errorf("the cleanup says %s", r.stdout.String())
	}
	if left := l.uploads(t, "key"); len(left) != 1 || left[0] != theirs {
		t.Errorf("uploads %v are open, want %s alone", left, theirs)
	}
	if left := l.uploads(t, "key2"); len(left) != 1 || left[0] != other {
		t.Errorf("uploads %v of another key are open, want %s", left, other)
	}
	l.nothingKept(t)
}

// The next run to the same key makes up for an orphan by itself: it drops what has
// no part, is of the very key and was begun when the journal says, and nothing else
// (R36, https://github.com/minio/minio/issues/9452).
func TestR36OrphanIsDroppedByTheNextRun(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 3*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		mem := storetest.NewMem(wire.Limits{})
		defer mem.Close()
		begin := func(key string) multipart.Upload {
			up, err := mem.Create(t.Context(), multipart.Intent{Bucket: "bucket", Key: key})
			if err != nil {
				t.Error(err)
			}
			return up
		}
		o := &multipart.Options{PartSize: mib, Threshold: -1, Journal: journal.Open(dir),
			Endpoint: multipart.NewEndpoint(multipart.EndpointOptions{Client: mem.Client()})}
		u, err := multipart.New(mem, mem, o)
		if err != nil {
			t.Fatal(err)
		}
		early := begin("key")
		time.Sleep(time.Hour)
		longer := begin("key2")
		mem.Script(storetest.Fault{Op: wire.Create, Times: 1, Apply: true, Reset: true})
		if _, err := u.UploadFile(t.Context(), multipart.Object{Bucket: "bucket", Key: "key"}, file); err != nil {
			t.Fatal(err)
		}
		if mem.Uploads() != 3 {
			t.Errorf("%d uploads are open, want 3", mem.Uploads())
		}
		time.Sleep(time.Hour)
		late := begin("key")
		if _, err := u.UploadFile(t.Context(), multipart.Object{Bucket: "bucket", Key: "key"}, file); err != nil {
			t.Fatal(err)
		}
		open, err := mem.ListUploads(t.Context(), "bucket", "")
		if err != nil || len(open) != 3 {
			t.Fatalf("open %+v, %v", open, err)
		}
		for _, other := range []multipart.Upload{early, longer, late} {
			if !slices.ContainsFunc(open, func(x multipart.Unfinished) bool { return x.Upload == other }) {
				t.Errorf("%v was somebody else's, and is gone", other)
			}
		}
		if list, err := o.Journal.List(); err != nil || len(list) != 0 {
			t.Errorf("journals %+v, %v", list, err)
		}
	})
}

// The cleanup, whatever age it is told, leaves alone what a journal owns: an upload
// that a process is at work on, and one that can be resumed (R40,
// https://github.com/rclone/rclone/issues/4300).
func TestR40CleanupSparesWhatAJournalOwns(t *testing.T) {
	l := newResumeLab(t, command(t))
	src := check.Random(t, 24*mib)
	file := check.TempFile(t, src)
	cleanup := func() {
		t.Helper()
		l.run(t, "uploads", "cleanup", "--max-age=0s", "--state-dir", l.state, l.dest())
	}
	l.proxy.Limit(4 * mib)
	r := l.start(t, nil, l.cp(file, "-c1")...)
	l.until(t, "a part was sent and another is on its way", func(all []faultproxy.Request) bool { return body(all) > 9*mib })
	cleanup()
	open := l.uploads(t, "key")
	if kept := l.journals(t); len(open) != 1 || len(kept) != 1 || !kept[0].Live || kept[0].Record.UploadID != open[0] {
		t.Fatalf("uploads %v are open, journals %+v", open, kept)
	}

	r.kill()
	l.quiet(t)
	theirs := l.begin(t, "key", true)
	cleanup()
	if left := l.uploads(t, "key"); !slices.Equal(left, open) {
		t.Errorf("uploads %v are open, want %v, and not %s, which is nobody's", left, open, theirs)
	}
	l.proxy.Limit(0)
	l.run(t, l.cp(file)...)
	l.holds(t, src)
	if n := l.proxy.Count(faultproxy.Create); n != 1 {
		t.Errorf("%d uploads were begun", n)
	}
}
