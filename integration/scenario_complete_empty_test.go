package integration

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
)

// https://github.com/aws/aws-cli/issues/4375: an upload in parts was begun before a
// byte had been read, and ended with a list of no parts, which is no XML that stores
// take. Here the first part is read before anything is begun.
func TestR47NothingToSend(t *testing.T) {
	check.Leaks(t)
	const nap = 3 * time.Second
	path := command(t)
	empty := func(t *testing.T) *finishLab {
		return newFinishLab(t, rawstore.Rule{Count: forever, Do: then(ignored, rawstore.Refuse(http.StatusNotImplemented, "NotImplemented", "Transfer-Encoding")),
			Match: func(r *http.Request) bool { return len(r.TransferEncoding) > 0 }})
	}
	stream := func(r io.Reader) func(*testing.T) {
		return func(t *testing.T) {
			l := empty(t)
			res, err := l.uploader(t).UploadStream(t.Context(), object, r, 0)
			l.emptyObject(t, res, err)
		}
	}
	piped := func(stdin io.Reader) func(*testing.T) {
		return func(t *testing.T) {
			l := empty(t)
			cmd := exec.Command(path, l.cp("-", "--multipart-threshold", "0", "--state-dir", t.TempDir())...)
			var out bytes.Buffer
			cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = l.env(t), stdin, &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			l.emptyObject(t, multipart.Result{ETag: "as the command says"}, nil)
		}
	}
	together(t, map[string]func(*testing.T){
		"a file": func(t *testing.T) {
			l := empty(t)
			res, err := l.uploader(t).UploadFile(t.Context(), object, check.TempFile(t, check.Pattern(0)))
			l.emptyObject(t, res, err)
		},
		"a stream":                   stream(strings.NewReader("")),
		"a stream that sleeps first": stream(&napping{nap: nap}),
		"standard input":             piped(strings.NewReader("")),
		"standard input that sleeps": piped(&napping{nap: nap}),
	})
}

// napping is a stream in which nothing comes for a while, and then the end.
type napping struct{ nap time.Duration }

func (n *napping) Read([]byte) (int, error) {
	<-time.After(n.nap)
	return 0, io.EOF
}

// emptyObject fails the test unless an object without bytes went up in one PUT.
func (l *finishLab) emptyObject(t *testing.T, res multipart.Result, err error) {
	t.Helper()
	if err != nil || res.ETag == "" || res.Size != 0 || res.Parts != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	l.holds(t, check.Pattern(0))
	puts := l.store.Of(rawstore.PutObject, 0)
	if len(puts) != 1 || puts[0].Size != 0 || puts[0].Header.Get("Content-Length") != "0" {
		t.Errorf("requests %+v", puts)
	}
	if n := l.count(rawstore.Create) + l.count(rawstore.PutPart) + l.count(rawstore.Complete); n != 0 {
		t.Errorf("%d requests of an upload in parts", n)
	}
}
