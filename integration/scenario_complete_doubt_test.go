package integration

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

// scenarioParts parts of 8 MiB are what the scenarios upload. Where the size says
// nothing, they are small.
const (
	scenarioParts = 12
	smallPart     = 64 * kib
)

// forever is how often a rule hits that never ends.
const forever = -1

// What the store does with a request before it says something else about it.
var (
	applied = []rawstore.Step{rawstore.ReadAll(), rawstore.Apply()}
	ignored = []rawstore.Step{rawstore.ReadAll()}
)

// then is a script that goes on.
func then(steps []rawstore.Step, more ...rawstore.Step) []rawstore.Step {
	return append(append([]rawstore.Step(nil), steps...), more...)
}

// completeLost is an answer to Complete that never comes, although it was applied.
var completeLost = rawstore.Rule{Op: rawstore.Complete, Do: then(applied, rawstore.Reset())}

// https://github.com/peak/s5cmd/issues/450: the answer to Complete is lost, the next
// try hears that there is no such upload, and the upload fails although it was done.
// Here the object is looked at: the upload's token in it is the proof, and nothing
// else is.
func TestR02LostAnswerToComplete(t *testing.T) {
	check.Leaks(t)
	src := check.Pattern(scenarioParts * smallPart)

	t.Run("a: the object has our token and size", func(t *testing.T) {
		l := newFinishLab(t, completeLost)
		res, err := l.send(t, src)
		if err != nil || res.ETag == "" {
			t.Fatalf("etag %q, %v", res.ETag, err)
		}
		l.holds(t, src)
		l.sentOnce(t, scenarioParts)
		l.completed(t, 1, 1)
	})
	// Only then is Complete sent again, and refused.
	t.Run("a: and cannot be looked at first", func(t *testing.T) {
		l := newFinishLab(t, completeLost,
			rawstore.Rule{Op: rawstore.Head, Do: then(ignored, rawstore.Refuse(http.StatusForbidden, "", ""))})
		if _, err := l.send(t, src); err != nil {
			t.Fatal(err)
		}
		l.holds(t, src)
		l.sentOnce(t, scenarioParts)
		l.completed(t, 2, 2)
	})
	t.Run("b: the object has another token", func(t *testing.T) {
		l := newFinishLab(t, completeLost)
		l.control = func(c multipart.Control) multipart.Control { return replacing{c, l.stranger(t), src} }
		_, err := l.send(t, src)
		e, ok := errors.AsType[*multipart.Error](err)
		if !ok || e.Op != wire.Complete || errors.Is(err, multipart.ErrUnknownOutcome) || !strings.Contains(err.Error(), "another object") {
			t.Fatalf("err = %v", err)
		}
		l.completed(t, 1+1, 1+1) // the stranger's, too
		l.holds(t, src)          // of the stranger, untouched
	})
	t.Run("c: nobody may look", func(t *testing.T) {
		l := newFinishLab(t, completeLost,
			rawstore.Rule{Op: rawstore.Head, Count: forever, Do: then(ignored, rawstore.Refuse(http.StatusForbidden, "", ""))})
		_, err := l.send(t, src)
		if !errors.Is(err, multipart.ErrUnknownOutcome) || !strings.Contains(err.Error(), "may or may not") {
			t.Fatalf("err = %v", err)
		}
		l.completed(t, 2, 2)
		l.holds(t, src) // it is not aborted by guess
	})
	// The object is there, yet nothing that this upload did can have made it.
	for name, did := range map[string][]rawstore.Step{"the upload is gone": ignored, "and it would be found": applied} {
		t.Run("d: refused at once, "+name, func(t *testing.T) {
			l := newFinishLab(t, rawstore.Rule{Op: rawstore.Complete,
				Do: then(did, rawstore.Refuse(http.StatusNotFound, "NoSuchUpload", "the upload does not exist"))})
			_, err := l.send(t, src)
			e, ok := errors.AsType[*multipart.Error](err)
			if !ok || e.Op != wire.Complete || e.UploadID == "" || errors.Is(err, multipart.ErrUnknownOutcome) {
				t.Fatalf("err = %v", err)
			}
			for _, want := range []string{"404", "NoSuchUpload"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			l.completed(t, 1, 0)
			check.NoUploads(t, l.store.Client(), "bucket", "key")
		})
	}
}

// stranger is an uploader of somebody else to the same store.
func (l *finishLab) stranger(t *testing.T) *multipart.Uploader {
	t.Helper()
	other := &finishLab{rawLab: &rawLab{store: l.store, options: l.options}, profile: l.profile}
	other.at(t, l.store.URL(), wire.Limits{})
	return other.uploader(t)
}

// replacing lets a stranger upload the same bytes, when Complete has made ours: the
// object then differs in nothing but the token.
type replacing struct {
	multipart.Control
	stranger *multipart.Uploader
	src      check.Source
}

func (r replacing) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	info, err := r.Control.Complete(ctx, u, c)
	_, other := r.stranger.Upload(ctx, object, source{r.src})
	return info, errors.Join(err, other)
}

// completed fails the test unless Complete was sent, and the object looked at, so
// often.
func (l *finishLab) completed(t *testing.T, completes, heads int) {
	t.Helper()
	if c, h := l.count(rawstore.Complete), l.count(rawstore.Head); c != completes || h != heads {
		t.Errorf("Complete was sent %d times and the object looked at %d times, want %d and %d", c, h, completes, heads)
	}
}

// R02 c, as the command tells it.
func TestR02UnknownOutcomeOfTheCommand(t *testing.T) {
	l := newFinishLab(t, completeLost,
		rawstore.Rule{Op: rawstore.Head, Count: forever, Do: then(ignored, rawstore.Refuse(http.StatusForbidden, "", ""))})
	path := check.TempFile(t, check.Pattern(2*5*mib))
	cmd := exec.Command(command(t), l.cp(path, "--part-size", "5MiB", "--multipart-threshold", "0", "--state-dir", t.TempDir())...)
	cmd.Env = l.env(t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 6 || !strings.Contains(out.String(), "may or may not") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// cp is a command line that uploads to the store.
func (l *finishLab) cp(src string, flags ...string) []string {
	return append([]string{"cp", src, "s3://bucket/key", "--endpoint-url", l.store.URL(), "--provider", "generic"}, flags...)
}

func (l *finishLab) env(t *testing.T) []string {
	return environment(t, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
}

// https://github.com/aws/aws-sdk-java-v2/issues/7068: the status of Complete said
// success, its body an error, and the upload was reported as done. Here a success is
// one with the result in it; everything else is looked into first.
func TestR17SuccessThatIsNone(t *testing.T) {
	check.Leaks(t)
	src := check.Pattern(scenarioParts * smallPart)
	const (
		head     = "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n"
		endless  = head + "Connection: close\r\n\r\n   "
		internal = "   <Error><Code>InternalError</Code><Message>We encountered an internal error. Please try again.</Message></Error>"
		part     = "<CompleteMultipartUploadResult><Key>key</Key><ETag>&quot;0123456789abcdef0123456789abcdef-12&quot;</ETag>"
	)
	xml, html := http.Header{"Content-Type": {"application/xml"}}, http.Header{"Content-Type": {"text/html"}}
	for name, says := range map[string][]rawstore.Step{
		"a: an error":            {rawstore.Answer(http.StatusOK, xml, internal)},
		"b: nothing":             {rawstore.Answer(http.StatusOK, xml, "")},
		"c: spaces and the end":  {rawstore.Send(endless), rawstore.Close()},
		"c: half a result":       {rawstore.Send(endless + part), rawstore.Close()},
		"d: a chunk and the end": {rawstore.Send(head + "Transfer-Encoding: chunked\r\n\r\n40\r\n" + part[:0x40] + "\r\n"), rawstore.Close()},
		"d: half a chunk":        {rawstore.Send(head + "Transfer-Encoding: chunked\r\n\r\n100\r\n" + part), rawstore.Close()},
		"e: a web page":          {rawstore.Answer(http.StatusOK, html, "<html><body>Welcome</body></html>")},
	} {
		for also, did := range map[string][]rawstore.Step{"it was done": applied, "it was not done": ignored} {
			t.Run(name+", "+also, func(t *testing.T) {
				l := newFinishLab(t, rawstore.Rule{Op: rawstore.Complete, Do: then(did, says...)})
				res, err := l.send(t, src)
				if err != nil || res.ETag == "" {
					t.Fatalf("etag %q, %v", res.ETag, err)
				}
				l.holds(t, src)
				l.sentOnce(t, scenarioParts)
				if also == "it was done" {
					l.completed(t, 1, 1) // a second one would find no upload
				} else {
					l.completed(t, 2, 2) // one to see that it was not, one for the proof
				}
			})
		}
	}
}

// impatient waits less long for Complete than for anything else.
type impatient struct {
	multipart.Control
	complete multipart.Control
}

func (i impatient) Complete(ctx context.Context, u multipart.Upload, c multipart.Completion) (multipart.Info, error) {
	return i.complete.Complete(ctx, u, c)
}

// https://github.com/aws/aws-sdk-js-v3/issues/7729: the object was made, the answer
// got lost on the way, and the upload waited for it for ever.
func TestR28CompleteNeverAnswers(t *testing.T) {
	check.Leaks(t)
	const limit = 3 * time.Second
	src := check.Pattern(scenarioParts * 8 * mib)
	l := newFinishLab(t, rawstore.Rule{Op: rawstore.Complete, Do: then(applied, rawstore.Freeze())})
	hasty := wire.NewClient(wire.Options{Limits: wire.Limits{Answer: limit / 10}}) // Complete may take ten times that
	t.Cleanup(hasty.CloseIdle)
	l.options.PartSize = 8 * mib
	l.control = func(c multipart.Control) multipart.Control {
		return impatient{c, s3store.New(l.client, l.profile, hasty)}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := l.uploader(t).Upload(ctx, object, source{src})
	logTrouble(t, l.events)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, src)
	l.sentOnce(t, scenarioParts)
	l.completed(t, 1, 1)
	if waited := l.store.Of(rawstore.Head, 0)[0].Start.Sub(l.store.Of(rawstore.Complete, 0)[0].Start); waited < limit || waited > limit+2*time.Second {
		t.Errorf("it was looked into after %v, want %v", waited, limit)
	}
}
