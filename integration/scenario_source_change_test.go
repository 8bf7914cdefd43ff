package integration

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// uploadFile uploads the file at path.
func (l *lab) uploadFile(t *testing.T, path string) (multipart.Result, error) {
	t.Helper()
	profile, err := s3store.ByName("minio")
	if err != nil {
		t.Fatal(err)
	}
	l.endpoint.Client = l.wire
	l.options.Endpoint, l.events = multipart.NewEndpoint(l.endpoint), nil
	l.options.OnEvent = func(e multipart.Event) { l.events = append(l.events, e) }
	u, err := multipart.New(s3store.New(l.client, profile, l.wire), s3presign.New(l.client, 0), &l.options)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.UploadFile(t.Context(), multipart.Object{Bucket: l.bucket, Key: "key"}, path)
	logTrouble(t, l.events)
	return res, err
}

// changing is an upload of a file to which something is done meanwhile. Everything
// is four times as fast as in the report.
type changing struct {
	*lab
	t    *testing.T
	path string
	src  check.Source // what the file has at first
}

const (
	changingSize = 30 * mib
	changingRate = 4 * 6 * mib
	changingTick = time.Second / 4 // a second there
)

func newChanging(t *testing.T) *changing {
	t.Helper()
	c := &changing{lab: newLab(t, wire.Limits{}), t: t, src: check.Pattern(changingSize)}
	c.proxy.Limit(changingRate)
	c.path = check.TempFile(t, c.src)
	// So long ago that the clock of the file system tells it from a change.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(c.path, old, old); err != nil {
		t.Fatal(err)
	}
	return c
}

// while uploads, and does something to the file as soon as when says so.
func (c *changing) while(when func() bool, do func() error) (multipart.Result, error) {
	c.t.Helper()
	done := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !when() {
			select {
			case <-tick.C:
			case <-over:
				done <- errors.New("the upload was over before the file was to change")
				return
			}
		}
		done <- do()
	}()
	res, err := c.uploadFile(c.t, c.path)
	close(over)
	if err := <-done; err != nil {
		c.t.Fatal(err)
	}
	return res, err
}

// after waits from the first part on.
func (c *changing) after(d time.Duration) func() bool {
	return func() bool {
		parts := c.parts()
		return len(parts) > 0 && time.Since(parts[0].Start) >= d
	}
}

// sent tells when so many bytes of a part have passed.
func (c *changing) sent(part int, n int64) func() bool {
	return func() bool {
		all := c.attempts(part)
		return len(all) > 0 && all[0].BodyBytes >= n
	}
}

func (c *changing) warned(want string) {
	c.t.Helper()
	for _, e := range c.events {
		if e.Kind == multipart.Warned && strings.Contains(e.Err.Error(), want) {
			return
		}
	}
	c.t.Errorf("nothing warned of %q", want)
}

// fails fails the test unless the upload failed because the source changed, and made
// nothing.
func (c *changing) fails(err error) {
	c.t.Helper()
	if !errors.Is(err, multipart.ErrSourceChanged) {
		c.t.Errorf("err = %v", err)
	}
	check.Absent(c.t, c.server.Client(), c.bucket, "key")
	check.NoUploads(c.t, c.server.Client(), c.bucket, "key")
	if n := c.proxy.Count(faultproxy.Complete); n > 0 {
		c.t.Errorf("%d completions", n)
	}
}

// overwrite writes other bytes in the middle of the file.
func overwrite(path string, from, to int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("overwritten!"), int(to-from)/12+1)[:to-from], from)
	return errors.Join(err, f.Close())
}

// https://github.com/aws/aws-sdk-java/issues/749: a file that was appended to could
// not be uploaded at all, and others became objects although they were being
// written. The size is that of the beginning; a change is looked for before the
// object is made, and then either what was sent is still there, or there is no
// object.
func TestR48FileThatChanges(t *testing.T) {
	t.Run("it grows", func(t *testing.T) {
		c := newChanging(t)
		stop, stopped := make(chan struct{}), make(chan error, 1)
		res, err := c.while(c.after(0), func() error {
			go func() { stopped <- appendTo(c.path, 64*kib, changingTick/10, stop) }()
			return nil
		})
		close(stop)
		if err := errors.Join(err, <-stopped); err != nil || res.Size != changingSize {
			t.Fatalf("%+v, %v", res, err)
		}
		check.Equal(t, c.server.Client(), c.bucket, "key", c.src, changingSize)
		check.NoUploads(t, c.server.Client(), c.bucket, "key")
		c.warned("grew from")
	})
	t.Run("it shrinks", func(t *testing.T) {
		c := newChanging(t)
		c.endpoint.Lanes = 1
		_, err := c.while(c.after(2*changingTick), func() error { return os.Truncate(c.path, 11*mib) })
		c.fails(err)
		if e, ok := errors.AsType[*chunker.ChangedError](err); !ok || e.Change != chunker.Shrank {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("it shrinks after it was read", func(t *testing.T) {
		c := newChanging(t)
		_, err := c.while(c.sent(6, 5*mib), func() error { return os.Truncate(c.path, 11*mib) })
		c.fails(err)
	})
	t.Run("what was sent is overwritten", func(t *testing.T) {
		c := newChanging(t)
		_, err := c.while(c.sent(5, mib), func() error { return overwrite(c.path, 20*mib, 21*mib) })
		c.fails(err)
	})
	t.Run("what was not yet read is overwritten", func(t *testing.T) {
		c := newChanging(t)
		c.endpoint.Lanes = 1
		if _, err := c.while(c.after(changingTick), func() error { return overwrite(c.path, 20*mib, 21*mib) }); err != nil {
			t.Fatal(err)
		}
		// The object is the file as it is now, every byte of it.
		now, err := os.Open(c.path)
		if err != nil {
			t.Fatal(err)
		}
		defer now.Close()
		check.Equal(t, c.server.Client(), c.bucket, "key", now, changingSize)
		c.warned("was modified at")
	})
	t.Run("it is replaced", func(t *testing.T) {
		c := newChanging(t)
		other := check.TempFile(t, check.Random(t, changingSize))
		if _, err := c.while(c.after(changingTick), func() error { return os.Rename(other, c.path) }); err != nil {
			t.Fatal(err)
		}
		check.Equal(t, c.server.Client(), c.bucket, "key", c.src, changingSize)
		check.NoUploads(t, c.server.Client(), c.bucket, "key")
		c.warned("was replaced by another file")
	})
}

// appendTo appends so many bytes to the file again and again.
func appendTo(path string, n int, every time.Duration, stop <-chan struct{}) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if _, err := io.CopyN(f, zeroReader{}, int64(n)); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-stop:
			return nil
		}
	}
}

// zeroReader gives zeros without an end.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
