package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart"
)

// contract reads the table of JSON lines in docs/cli.md: the fields by type.
func contract(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## JSON lines\n")
	if !found {
		t.Fatal("docs/cli.md has no section on JSON lines")
	}
	types := map[string][]string{}
	inBrackets, quoted := regexp.MustCompile(`\([^)]*\)`), regexp.MustCompile("`([a-z_]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (.*) \\|$").FindAllStringSubmatch(section, -1) {
		for _, field := range quoted.FindAllStringSubmatch(inBrackets.ReplaceAllString(row[2], ""), -1) {
			types[row[1]] = append(types[row[1]], field[1])
		}
	}
	return types
}

// added are the fields and the types that the contract does not have.
var added = map[string][]string{"attempt": {"op", "again"}, "progress": {"lanes", "budget"}, "wait": {"op"}, "warning": {"dest", "error"},
	"created": {"dest", "upload_id"}, "resumed": {"dest", "upload_id", "parts", "bytes"}, "result": {"object", "existing", "upload_id", "resume", "abort"}}

func jsonLines(t *testing.T, stdout string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(stdout) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// trouble uploads a file through failures that bring every type of line.
func trouble(t *testing.T) (*fake, ran) {
	isolate(t)
	f := newFake(t)
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		w.Header().Set("X-Amz-Request-Id", "REQ1")
		return (op == "create" || op == "part") && len(f.of(op)) == 1 && refuse(w, 500, "InternalError")
	})
	source := file(t, "big", "content")
	return f, f.cp(t, source, "s3://bucket/key", "--json", "-v", "--multipart-threshold", "0", "--provider", "minio",
		"--backoff-base", "20ms", "--jitter", "none", "--breaker-failures", "1", "--breaker-cooldown", "1ms").want(t, exitOK)
}

// Every type of the contract comes with exactly its fields.
func TestJSONFields(t *testing.T) {
	types := contract(t)
	if len(types) != 8 || !slices.Equal(types["wait"], []string{"dest", "part", "attempt", "wait_ms", "reason"}) {
		t.Fatalf("the contract was read as %v", types)
	}
	_, r := trouble(t)
	if r.stderr != "" {
		t.Errorf("standard error %q", r.stderr)
	}
	seen := map[string]bool{}
	for _, l := range jsonLines(t, r.stdout) {
		kind := l["type"].(string)
		seen[kind] = true
		want := append(slices.Concat(types[kind], added[kind]), "type", "time")
		if _, moving := l["eta_ms"]; kind == "progress" && !moving {
			want = slices.DeleteFunc(want, func(f string) bool { return f == "eta_ms" })
		}
		if got := slices.Sorted(maps.Keys(l)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s has %v, want %v", kind, got, want)
		}
		if _, err := time.Parse(time.RFC3339Nano, l["time"].(string)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for kind := range types {
		if !seen[kind] {
			t.Errorf("no line of type %s in\n%s", kind, r.stdout)
		}
	}
}

func TestJSONValues(t *testing.T) {
	f, r := trouble(t)
	lines := jsonLines(t, r.stdout)
	find := func(match map[string]any) map[string]any {
		for _, l := range lines {
			same := true
			for k, v := range match {
				same = same && l[k] == v
			}
			if same {
				return l
			}
		}
		t.Errorf("no line with %v in\n%s", match, r.stdout)
		return map[string]any{}
	}
	find(map[string]any{"type": "plan", "dest": "s3://bucket/key", "size": 7., "parts": 1., "part_size": 8388608.})
	find(map[string]any{"type": "attempt", "op": "create upload", "part": 0., "class": "done", "error": ""})
	failed := find(map[string]any{"type": "attempt", "part": 1., "attempt": 1., "status": 500., "code": "InternalError", "class": "retry",
		"phase": "", "request_id": "REQ1", "again": true})
	if conn, _ := failed["conn"].(string); !strings.HasPrefix(conn, "127.0.0.1:") || failed["error"] == "" {
		t.Errorf("the failed attempt is %v", failed)
	}
	find(map[string]any{"type": "attempt", "part": 1., "attempt": 2., "status": 200., "class": "done", "sent": 7., "again": false})
	find(map[string]any{"type": "wait", "part": 1., "attempt": 1., "wait_ms": 20., "reason": "backoff"})
	find(map[string]any{"type": "mint", "part": 1., "reason": "first"})
	find(map[string]any{"type": "breaker", "endpoint": f.URL, "from": "closed", "to": "open"})
	find(map[string]any{"type": "progress", "done": 7., "total": 7., "lanes": 2., "budget": 10.})
	result := find(map[string]any{"type": "result", "dest": "s3://bucket/key", "ok": true, "exit": 0., "etag": `"whole-1"`, "version_id": "",
		"size": 7., "parts": 1., "resumed_parts": 0., "attempts": 2., "retries": 1., "error": ""})
	if sum, _ := result["checksum"].(string); !strings.HasPrefix(sum, "crc64nvme:") {
		t.Errorf("checksum %v", result["checksum"])
	}
	summary := find(map[string]any{"type": "summary", "files": 1., "failed": 0., "bytes": 7., "requests": 6., "retries": 1., "exit": 0.})
	if left, _ := summary["budget_left"].(float64); left <= 0 || left > 10 {
		t.Errorf("budget left: %v", summary["budget_left"])
	}
	if last := lines[len(lines)-1]["type"]; last != "summary" {
		t.Errorf("the last line is a %v", last)
	}
}

func TestJSONFailures(t *testing.T) {
	isolate(t)
	source := file(t, "big", "content")
	f := newFake(t)
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "put" && refuse(w, 403, "AccessDenied")
	})
	r := f.cp(t, source, "s3://bucket/key", "--json").want(t, exitDenied)
	lines := jsonLines(t, r.stdout)
	result, summary := lines[len(lines)-2], lines[len(lines)-1]
	if result["ok"] != false || result["exit"] != 4. || !strings.Contains(result["error"].(string), "AccessDenied") {
		t.Errorf("the result is %v", result)
	}
	if summary["failed"] != 1. || summary["exit"] != 4. || summary["bytes"] != 0. {
		t.Errorf("the summary is %v", summary)
	}

	t.Setenv("AWS_ACCESS_KEY_ID", "")
	r = f.cp(t, source, file(t, "other", "x"), "s3://bucket/", "--json").want(t, exitDenied)
	r.oneLine(t, "AWS_ACCESS_KEY_ID")
	lines = jsonLines(t, r.stdout)
	if len(lines) != 1 || lines[0]["type"] != "summary" || lines[0]["failed"] != 2. || lines[0]["exit"] != 4. {
		t.Errorf("without credentials: %v", lines)
	}

	r = f.cp(t, source, "s3://bucket/key", "--json", "--part-size", "1").want(t, exitUsage)
	if r.stdout != "" {
		t.Errorf("after a usage error: %q", r.stdout)
	}
	r = f.cp(t, source, "s3://bucket/key", "--json", "-n").want(t, exitOK)
	lines = jsonLines(t, r.stdout)
	if len(lines) != 2 || lines[0]["type"] != "plan" || lines[0]["source"] != source || lines[0]["parts"] != 1. || lines[0]["part_size"] != 7. {
		t.Errorf("a dry run: %v", lines)
	}
}

// A source that is refused because its key is another's does not disturb that one.
func TestJSONAfterRefusal(t *testing.T) {
	var out strings.Builder
	p, first := newJSONPrinter(&out), job{source: "first", dest: "s3://bucket/key", size: 10}
	p.event(first, multipart.Event{Kind: multipart.Planned, Time: noon})
	p.result(outcome{job: job{source: "second", dest: first.dest}, err: io.ErrUnexpectedEOF, code: exitFailed, unbegun: true})
	p.event(first, multipart.Event{Kind: multipart.Progressed, Time: at(1), Done: 5})
	p.result(outcome{job: first})
	if len(p.meters) != 0 {
		t.Errorf("%d meters are left", len(p.meters))
	}
	if lines := jsonLines(t, out.String()); len(lines) != 4 || lines[2]["type"] != "progress" || lines[2]["done"] != 5. {
		t.Errorf("printed %v", lines)
	}
}

// While nothing moves there is no time left.
func TestJSONStall(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.hang(t, "create")
	r := f.cp(t, file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--timeout", "600ms", "--json").want(t, exitFailed)
	n := 0
	for _, l := range jsonLines(t, r.stdout) {
		if _, moving := l["eta_ms"]; l["type"] == "progress" {
			n++
			if moving || l["rate"] != 0. {
				t.Errorf("while nothing moves: %v", l)
			}
		}
	}
	if n < 2 {
		t.Errorf("%d lines of progress", n)
	}
}
