package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// minting is chunkup mint in this process.
type minting struct {
	url    string
	first  string // the line that it prints
	stderr *shared
	end    func() ran // interrupts it, once
}

// aliceToken may choose keys below in/alice/, bareToken may not choose any.
const (
	aliceToken = "s3kret-of-alice"
	bareToken  = "s3kret-of-nobody"
	alice      = "Authorization: Bearer " + aliceToken
	bare       = "Authorization: Bearer " + bareToken
)

// startMint serves until the test ends. Then the environment has no credentials any
// more, as that of a client.
func (f *fake) startMint(t *testing.T, args ...string) *minting {
	t.Helper()
	isolate(t)
	tokens := file(t, "tokens", "# who may\nalice "+aliceToken+" prefix=in/alice/\n"+bareToken+" # has no name\n")
	if err := os.Chmod(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	m := startMint(t, append([]string{"--bucket", "bucket", "--prefix", "in/", "--token-file", tokens, "--endpoint-url", f.URL, "--provider", "minio"}, args...)...)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", file(t, "config", "this is no configuration"))
	return m
}

func startMint(t *testing.T, args ...string) *minting {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	read, write := io.Pipe()
	m := &minting{stderr: &shared{}}
	state := t.TempDir()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, env{args: append([]string{"mint", "--listen", "127.0.0.1:0"}, args...), stdout: write, stderr: m.stderr,
			getenv:   func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] },
			terminal: func(io.Writer) bool { return false }})
		write.Close()
	}()
	m.first, _ = bufio.NewReader(read).ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, read) }()
	address := regexp.MustCompile(`at (https?://\S+) until`).FindStringSubmatch(m.first)
	if address == nil {
		t.Fatalf("it printed %q and %q, exit code %d", m.first, m.stderr, <-code)
	}
	m.url = address[1]
	ended := false
	m.end = func() ran {
		ended = true
		cancel(errInterrupted)
		return ran{<-code, m.first, m.stderr.String()}
	}
	t.Cleanup(func() {
		if !ended {
			m.end().want(t, exitOK)
		}
	})
	return m
}

// cp uploads through the service; header is in the environment.
func (m *minting) cp(t *testing.T, header string, args ...string) ran {
	t.Helper()
	return m.command(t, header, append([]string{"cp"}, args...)...)
}

func (m *minting) command(t *testing.T, header string, args ...string) ran {
	t.Helper()
	w := world{variables: map[string]string{"CHUNKUP_MINT_HEADER": header, "CHUNKUP_MINT_URL": m.url}}
	r := w.run(t, args...)
	for _, text := range []string{r.stdout, r.stderr, m.stderr.String()} {
		if strings.Contains(text, "s3kret") {
			t.Errorf("%v tells the token: %s", args, text)
		}
	}
	return r
}

// ask makes one call; it may be called from any goroutine.
func ask(t *testing.T, method, address, body string, header ...string) (status int, answer string) {
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	for _, h := range append(header, "Content-Type: application/json") {
		name, v, _ := strings.Cut(h, ": ")
		r.Header.Set(name, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(text)
}

func TestMintUploads(t *testing.T) {
	f := newFake(t)
	m := f.startMint(t)
	small, big := file(t, "small", "content"), sparse(t, "big", 12<<20)
	for _, c := range []struct {
		header, source, dest, key string
		args                      []string
		says                      string
	}{
		{alice, small, "s3://bucket/in/alice/small", "/bucket/in/alice/small", nil, " in one PUT"},
		{alice, big, "s3://bucket/in/alice/{name}", "/bucket/in/alice/big", inThree, " in 3 parts of 5 MiB"},
		{bare, small, "s3://bucket/", `/bucket/in/[0-9a-f]{32}/small`, nil, " in 1 part,"},
		{bare, big, "s3://bucket/some/where", `/bucket/in/[0-9a-f]{32}/where`, inThree, " in 3 parts of 5 MiB"},
	} {
		f.forget()
		r := m.cp(t, c.header, append([]string{c.source, c.dest}, c.args...)...).want(t, exitOK)
		keys := f.keys()
		if len(keys) != 1 || !regexp.MustCompile("^"+c.key+"$").MatchString(keys[0]) {
			t.Fatalf("%s: the store has %v, want %s", c.dest, keys, c.key)
		}
		if want := " → s3:/" + keys[0] + "  "; !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, c.says) {
			t.Errorf("%q does not say %q and %q", r.stdout, want, c.says)
		}
		lines := jsonLines(t, m.cp(t, c.header, append([]string{c.source, c.dest, "--json"}, c.args...)...).want(t, exitOK).stdout)
		object := lines[len(lines)-2]["object"].(string)
		if _, there := f.object(strings.TrimPrefix(object, "s3:/")); !there {
			t.Errorf("%s: the result names %q, the store has %v", c.dest, object, f.keys())
		}
	}
	if u := f.unfinished(); len(u) != 0 {
		t.Errorf("unfinished: %v", u)
	}
	if r := m.cp(t, bare, "-n", small, "s3://bucket/").want(t, exitOK); !strings.Contains(r.stdout, "  7 B in 1 part\n") {
		t.Errorf("%q", r.stdout)
	}
}

// Who restarts the service loses no upload.
func TestMintRestarts(t *testing.T) {
	f, state, service := newFake(t), t.TempDir(), t.TempDir()
	m := f.startMint(t, "--state-dir", service)
	source := sparse(t, "big", 12<<20)
	f.on(failing)
	m.cp(t, bare, append([]string{source, "s3://bucket/x", "--state-dir", state}, inThree...)...).want(t, exitIncomplete)
	f.on(nil)
	address := strings.TrimPrefix(m.url, "http://")
	m.end().want(t, exitOK)
	again := f.startMint(t, "--state-dir", service, "--listen", address)
	noSecret(t, service)
	if r := again.command(t, bare, "state", "resume", "--all", "--state-dir", state).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
		t.Errorf("%s", r.stdout)
	}
	isolate(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	world{ctx: ctx}.run(t, "mint", "--bucket", "bucket", "--no-auth", "--endpoint-url", f.URL, "--provider", "minio", "--state-dir", service, "--listen", "127.0.0.1:0").
		want(t, exitFailed).oneLine(t, "another chunkup mint", "--state-dir")
}

// An interrupt lets the calls end that have begun.
func TestMintEnds(t *testing.T) {
	f := newFake(t)
	m := f.startMint(t)
	status, body := ask(t, http.MethodPost, m.url+"/s3/multipart", `{"filename":"x","type":"text/x","metadata":{}}`, bare)
	var created struct{ Key, UploadID string }
	if err := json.Unmarshal([]byte(body), &created); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	reached, release := make(chan struct{}), make(chan struct{})
	f.on(func(_ http.ResponseWriter, r *http.Request, op string) bool {
		if op == "list" {
			close(reached)
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	})
	answered := make(chan int, 1)
	go func() {
		status, _ := ask(t, http.MethodGet, m.url+"/s3/multipart/"+created.UploadID+"?key="+url.QueryEscape(created.Key), "", bare)
		answered <- status
	}()
	<-reached
	ended := make(chan ran, 1)
	go func() { ended <- m.end() }()
	select {
	case r := <-ended:
		close(release)
		t.Fatalf("it ended while a call was under way: %+v", r)
	case status := <-answered:
		t.Fatalf("the call was answered with %d before the store had answered", status)
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the call was answered with %d", status)
	}
	if r := (<-ended).want(t, exitOK); r.stderr != "" {
		t.Errorf("standard error %q", r.stderr)
	}
}

func TestMintTLS(t *testing.T) {
	f := newFake(t)
	cert, ca := selfSigned(t, []string{"localhost"})
	key := keyFile(t, cert)
	m := f.startMint(t, "--tls-cert", ca, "--tls-key", key, "--listen", "localhost:0")
	m.url = strings.Replace(m.url, "127.0.0.1", "localhost", 1)
	source := file(t, "small", "content")
	m.cp(t, bare, source, "s3://bucket/x").want(t, exitFailed).oneLine(t, "--mint-url: ", "certificate")
	m.cp(t, bare, source, "s3://bucket/x", "--ca-bundle", ca).want(t, exitOK)
	m.cp(t, bare, source, "s3://bucket/x", "--no-verify-ssl").want(t, exitOK)
	m.cp(t, bare, source, "s3://bucket/x", "--ca-bundle", source).want(t, exitUsage).oneLine(t, "--ca-bundle", "PEM")
	m.cp(t, bare, source, "s3://bucket/x", "--ca-bundle", source+"none").want(t, exitUsage).oneLine(t, "--ca-bundle")
}

func TestMintPage(t *testing.T) {
	f := newFake(t)
	m := f.startMint(t, "--page")
	if !strings.Contains(m.first, ", or open "+m.url+"/\n") {
		t.Errorf("it printed %q", m.first)
	}
	for path, want := range map[string]int{"/": 200, "/page.js": 200, "/s3/chunkup": 401, "/s3/none": 404, "/none": 404} {
		if status, body := ask(t, http.MethodGet, m.url+path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := ask(t, http.MethodGet, m.url+"/s3/chunkup", "", bare); status != 200 || !strings.Contains(body, `"bucket":"bucket"`) {
		t.Errorf("%d %s", status, body)
	}
	without := f.startMint(t)
	if status, _ := ask(t, http.MethodGet, without.url+"/", ""); status != 404 || strings.Contains(without.first, "open") {
		t.Errorf("without --page: %d, %q", status, without.first)
	}
}

// A line for each request if it is wanted, with nothing that is secret.
func TestMintLog(t *testing.T) {
	f := newFake(t)
	m, silent := f.startMint(t, "-v"), f.startMint(t)
	source := file(t, "small", "content")
	for _, m := range []*minting{m, silent} {
		m.cp(t, alice, source, "s3://bucket/in/alice/x y", "--multipart-threshold", "0").want(t, exitOK)
		m.cp(t, "Authorization: Bearer s3kret-wrong", source, "s3://bucket/in/alice/x").want(t, exitDenied)
	}
	log := m.stderr.String()
	for _, want := range []string{`caller=alice route=about status=200 `, `caller=alice route=create status=200 key="in/alice/x y" `, ` part=1 `, `route=complete`, `status=401 `} {
		if !strings.Contains(log, want) {
			t.Errorf("%s\ndoes not say %s", log, want)
		}
	}
	if strings.Contains(log, "X-Amz-") || strings.Contains(log, "http://") || silent.stderr.String() != "" {
		t.Errorf("%s\n%s", log, silent.stderr)
	}
}

// On a machine of one's own nobody needs a token.
func TestMintNoAuth(t *testing.T) {
	isolate(t)
	f := newFake(t)
	m := startMint(t, "--bucket", "bucket", "--prefix", "in/", "--choose-keys", "--no-auth", "--endpoint-url", f.URL, "--provider", "minio", "--max-size", "1KiB")
	if strings.Contains(m.first, "--mint-header") {
		t.Errorf("it printed %q", m.first)
	}
	m.cp(t, "", file(t, "small", "content"), "s3://bucket/in/x").want(t, exitOK)
	m.cp(t, "", sparse(t, "big", 2<<10), "s3://bucket/in/y").want(t, exitUsage)
	if _, ok := f.object("/bucket/in/x"); !ok || len(f.keys()) != 1 {
		t.Errorf("the store has %v", f.keys())
	}
}
