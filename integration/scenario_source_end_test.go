package integration

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
)

// oddReader reads a source and ends in its own way.
type oddReader struct {
	src  io.Reader
	read func(src io.Reader, p []byte) (int, error)
}

func (o *oddReader) Read(p []byte) (int, error) { return o.read(o.src, p) }

// https://github.com/aws/aws-sdk-go/issues/780: a source that broke off half-way
// was taken for one that had ended, and half of it published. Only io.EOF is an
// end.
func TestR22OnlyEOFIsAnEnd(t *testing.T) {
	check.Leaks(t)
	src := check.Pattern(24 * mib)
	upload := func(t *testing.T, read func(io.Reader, []byte) (int, error)) (*ledger, error) {
		l := newLedger(t, src)
		d := l.desk(t)
		d.options.PartSize = 5 * mib
		_, err := d.stream(t, &oddReader{src: bytesOf(src), read: read}, 0)
		return l, err
	}

	t.Run("it breaks off", func(t *testing.T) {
		left := int64(17 * mib)
		l, err := upload(t, func(r io.Reader, p []byte) (int, error) {
			n, _ := r.Read(p[:min(int64(len(p)), left)])
			if left -= int64(n); left == 0 {
				return n, io.ErrUnexpectedEOF
			}
			return n, nil
		})
		read, ok := errors.AsType[*chunker.ReadError](err)
		if !ok || !errors.Is(err, io.ErrUnexpectedEOF) || read.Offset != 17*mib {
			t.Errorf("err = %v", err)
		}
		if e, ok := errors.AsType[*multipart.Error](err); !ok || e.UploadID == "" || e.Abort != nil {
			t.Errorf("err = %#v", err)
		}
		l.nothing(t)
		if n := l.count(rawstore.Abort); n < 1 {
			t.Errorf("%d aborts", n)
		}
	})
	t.Run("nothing comes for a while", func(t *testing.T) {
		read, empty := int64(0), 0
		l, err := upload(t, func(r io.Reader, p []byte) (int, error) {
			if read >= 7*mib && empty < 200 {
				empty++
				return 0, nil
			}
			n, err := r.Read(p)
			read += int64(n)
			return n, err
		})
		if err != nil || empty != 200 {
			t.Errorf("%v after %d empty reads", err, empty)
		}
		l.holds(t, "/bucket/key", src.Size())
	})
	t.Run("the end comes with the last bytes", func(t *testing.T) {
		left := src.Size()
		l, err := upload(t, func(r io.Reader, p []byte) (int, error) {
			n, err := r.Read(p)
			if left -= int64(n); left == 0 {
				err = io.EOF
			}
			return n, err
		})
		if err != nil {
			t.Error(err)
		}
		l.holds(t, "/bucket/key", src.Size())
	})
}

// Whether the command behind a pipe has failed is not to be seen in the pipe: it is
// in how the command ends.
func TestR22ProducerFails(t *testing.T) {
	server := store.Server(t)
	path, bucket := command(t), server.Bucket(t)
	env := environment(t, "AWS_ACCESS_KEY_ID="+server.AccessKey, "AWS_SECRET_ACCESS_KEY="+server.SecretKey, "AWS_ENDPOINT_URL_S3="+server.URL)
	run := func(dest, script string) (string, int) {
		cmd := exec.Command(path, "cp", "-", dest, "--", "sh", "-c", script)
		var out bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return out.String(), exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return out.String(), 0
	}
	for name, script := range map[string]string{
		"one object": "head -c 12M /dev/zero; exit 3",
		"parts":      "head -c 40M /dev/zero; exit 3",
		"at once":    "exit 3",
	} {
		out, code := run("s3://"+bucket+"/key", script)
		if code == 0 || !strings.Contains(out, "3") {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
		check.Absent(t, server.Client(), bucket, "key")
		check.NoUploads(t, server.Client(), bucket, "key")
	}
	// The same command is uploaded if it ends well.
	if out, code := run("s3://"+bucket+"/key", "head -c 12M /dev/zero"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	check.Equal(t, server.Client(), bucket, "key", zeros{}, 12*mib)
}

// zeros is a source of nothing but zeros.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}
