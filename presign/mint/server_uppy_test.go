package mint

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// recorded is a request as Uppy 5.1.0 makes it (https://github.com/transloadit/uppy, tag
// @uppy/aws-s3@5.1.0), and what it reads of the answer: a path of fields, and a type.
type recorded struct {
	Name, Source, Method, Target, Body string
	Headers                            map[string]string
	Status                             int
	Reads                              map[string]string
	Lacks                              []string
}

// The requests of Uppy are understood, and it finds in the answers what it looks for.
func TestServerUppy(t *testing.T) {
	text, err := os.ReadFile("testdata/uppy-5.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []recorded
	if err := json.Unmarshal(text, &table); err != nil || len(table) < 9 {
		t.Fatalf("%d requests, %v", len(table), err)
	}
	for _, r := range table {
		t.Run(r.Name, func(t *testing.T) {
			l := newServerLab(t, func(o *Options) { o.Forms = forms{} })
			u := l.begin(`{"filename":"a b&c.txt","type":"text/plain"}`)
			tag, _ := json.Marshal(l.sendPart(u, "1", "hello"))
			// encodeURIComponent leaves !'()* alone, which QueryEscape does not, and writes a space as %20.
			fill := strings.NewReplacer("{uploadId}", u.UploadID, "{key}", strings.ReplaceAll(url.QueryEscape(u.Key), "+", "%20"),
				"{etag}", string(tag[1:len(tag)-1]))
			var headers []string
			for name, value := range maps.All(r.Headers) {
				headers = append(headers, name+": "+value)
			}
			a := l.ask(r.Method, fill.Replace(r.Target), fill.Replace(r.Body), headers...)
			var answer any
			if err := json.Unmarshal([]byte(a.text), &answer); err != nil || a.status != r.Status {
				t.Fatalf("%d %s %v", a.status, a.text, err)
			}
			for path, want := range r.Reads {
				if got := kindOf(answer, strings.Split(path, ".")); got != want {
					t.Errorf("%s is a %s instead of a %s: %s", path, got, want, a.text)
				}
			}
			for _, path := range r.Lacks {
				if got := kindOf(answer, strings.Split(path, ".")); got != "nothing" {
					t.Errorf("%s is a %s: %s", path, got, a.text)
				}
			}
		})
	}
}

// kindOf is what typeof says of the field at a path.
func kindOf(v any, path []string) string {
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			if name != "0" || len(in) == 0 {
				return "nothing"
			}
			v = in[0]
		}
	}
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "string"
	case float64:
		return "number"
	}
	return fmt.Sprintf("%T", v)
}

// forms signs nothing: it returns what it was given.
type forms struct{}

func (forms) PresignForm(_ context.Context, bucket, key string, fields map[string]string, maxSize int64) (string, map[string]string, time.Time, error) {
	form := maps.Clone(fields)
	form["key"], form["bucket"], form["max"] = key, bucket, fmt.Sprint(maxSize)
	return "http://mem/" + bucket, form, time.Now().Add(time.Minute), nil
}

// A form has the object's type and metadata as fields, and the caller's limit.
func TestServerForm(t *testing.T) {
	l := newServerLab(t, func(o *Options) { o.Forms = forms{} })
	var p paramsResponse
	l.ask("GET", pathParams+"?filename=x/a.txt&type=text/plain&metadata[Name]=Gr%C3%BC%C3%9Fe&headers[cache-control]=no-cache", "", as(carolToken)).read(t, &p)
	for name, want := range map[string]string{"Content-Type": "text/plain", "x-amz-meta-name": "=?UTF-8?B?R3LDvMOfZQ==?=", "Cache-Control": "no-cache",
		"success_action_status": "201", "max": "10", "key": p.Key, "bucket": "bucket"} {
		if p.Fields[name] != want {
			t.Errorf("%s: %q instead of %q", name, p.Fields[name], want)
		}
	}
	if p.Method != "POST" || p.URL != "http://mem/bucket" || p.NotAfter == nil || p.Expires < 58 || len(p.Fields) != 7 || !strings.HasSuffix(p.Key, "/a.txt") {
		t.Errorf("%+v", p)
	}
}

// With a size it is a PUT of that many bytes, digest and properties included.
func TestServerPut(t *testing.T) {
	l := newServerLab(t)
	var p paramsResponse
	query := url.Values{queryKey: {"team/a"}, querySize: {"5"}, queryType: {"text/plain"}, "metadata[x]": {"y"},
		queryChecksumHeader: {"x-amz-checksum-crc64nvme"}, queryChecksum: {sum(t, "hello")}}
	l.ask("GET", pathParams+"?"+query.Encode(), "", as(bobToken)).read(t, &p)
	if p.Key != "team/a" || p.Method != "PUT" || p.Fields == nil {
		t.Errorf("%+v", p)
	}
	l.send(p.signedRequest, []byte("hello"))
	var has objectInfo
	l.ask("GET", pathObject+"?key=team/a", "", as(bobToken)).read(t, &has)
	if has.Size != 5 || has.Metadata["x"] != "y" || has.Checksum != sum(t, "hello") {
		t.Errorf("%+v", has)
	}
	if a := l.ask("GET", pathObject+"?key=team/b", "", as(bobToken)); a.status != 404 || !strings.Contains(a.text, `"store"`) {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// Each request is one event, which says what it was about.
func TestServerEvents(t *testing.T) {
	l := newServerLab(t)
	u := l.begin(`{"filename":"a"}`, HeaderAttempt+": 3")
	if e := l.lastEvent(); e.Caller != "alice" || e.Route != "create" || e.Key != u.Key || e.Status != 200 || e.Attempt != 3 || e.Error != "" {
		t.Errorf("%+v", e)
	}
	for attempt, want := range map[string]int{"": 1, "0": 1, "-2": 1, "x": 1, "7": 7} {
		l.ask("GET", at(u, "/5"), "", HeaderAttempt+": "+attempt)
		if e := l.lastEvent(); e.Route != "sign" || e.Part != 5 || e.Key != u.Key || e.Attempt != want {
			t.Errorf("%q: %+v", attempt, e)
		}
	}
	l.ask("GET", at(u, "/5"), "", as(bobToken))
	if e := l.lastEvent(); e.Caller != "bob" || e.Key != "" || e.Part != 0 || e.Status != 404 {
		t.Errorf("%+v", e)
	}
	if n := len(l.events); n != 7 {
		t.Errorf("%d events of 7 requests", n)
	}
}
