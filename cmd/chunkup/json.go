package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// jsonPrinter prints JSON lines, whose fields docs/cli.md lists.
type jsonPrinter struct {
	mu     sync.Mutex
	out    *sink
	encode *json.Encoder
	meters map[string]*meter // by destination
}

func newJSONPrinter(out io.Writer) *jsonPrinter {
	p := &jsonPrinter{out: &sink{to: out}, meters: map[string]*meter{}}
	p.encode = json.NewEncoder(p.out)
	p.encode.SetEscapeHTML(false)
	return p
}

// line begins every line.
type line struct {
	Type string `json:"type"`
	Time string `json:"time"`
}

func head(kind string, t time.Time) line {
	return line{Type: kind, Time: t.UTC().Format("2006-01-02T15:04:05.000000000Z07:00")}
}

type planLine struct {
	line
	Source   string `json:"source"`
	Dest     string `json:"dest"`
	Size     int64  `json:"size"`
	Parts    int    `json:"parts"`
	PartSize int64  `json:"part_size"`
}

type attemptLine struct {
	line
	Dest      string `json:"dest"`
	Op        string `json:"op"`
	Part      int    `json:"part"`
	Attempt   int    `json:"attempt"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Class     string `json:"class"`
	Again     bool   `json:"again"`
	Phase     string `json:"phase"`
	Sent      int64  `json:"sent"`
	ElapsedMS int64  `json:"elapsed_ms"`
	RequestID string `json:"request_id"`
	Conn      string `json:"conn"`
	Error     string `json:"error"`
}

type waitLine struct {
	line
	Dest    string `json:"dest"`
	Op      string `json:"op"`
	Part    int    `json:"part"`
	Attempt int    `json:"attempt"`
	WaitMS  int64  `json:"wait_ms"`
	Reason  string `json:"reason"`
}

type mintLine struct {
	line
	Dest   string `json:"dest"`
	Part   int    `json:"part"`
	Reason string `json:"reason"`
}

type breakerLine struct {
	line
	Endpoint string `json:"endpoint"`
	From     string `json:"from"`
	To       string `json:"to"`
}

type progressLine struct {
	line
	Dest  string `json:"dest"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Rate  int64  `json:"rate"`
	ETAMS *int64 `json:"eta_ms,omitempty"`

	Lanes  int     `json:"lanes"`
	Budget float64 `json:"budget"`
}

type warningLine struct {
	line
	Dest  string `json:"dest"`
	Error string `json:"error"`
}

type resultLine struct {
	line
	Source       string `json:"source"`
	Dest         string `json:"dest"`
	OK           bool   `json:"ok"`
	Exit         int    `json:"exit"`
	ETag         string `json:"etag"`
	VersionID    string `json:"version_id"`
	Checksum     string `json:"checksum"`
	Size         int64  `json:"size"`
	Parts        int    `json:"parts"`
	ResumedParts int    `json:"resumed_parts"`
	Attempts     int    `json:"attempts"`
	Retries      int    `json:"retries"`
	ElapsedMS    int64  `json:"elapsed_ms"`
	Error        string `json:"error"`

	Object   string `json:"object"` // dest, unless a minting service has chosen another key
	Existing bool   `json:"existing"`
	UploadID string `json:"upload_id"`
	Resume   string `json:"resume"`
	Abort    string `json:"abort"`
}

type createdLine struct {
	line
	Dest     string `json:"dest"`
	UploadID string `json:"upload_id"`
}

type resumedLine struct {
	line
	Dest     string `json:"dest"`
	UploadID string `json:"upload_id"`
	Parts    int    `json:"parts"`
	Bytes    int64  `json:"bytes"`
}

type summaryLine struct {
	line
	Files      int     `json:"files"`
	Failed     int     `json:"failed"`
	Bytes      int64   `json:"bytes"`
	SentBytes  int64   `json:"sent_bytes"`
	Requests   int     `json:"requests"`
	Retries    int     `json:"retries"`
	Mints      int     `json:"mints"`
	BudgetLeft float64 `json:"budget_left"`
	ElapsedMS  int64   `json:"elapsed_ms"`
	Exit       int     `json:"exit"`
}

// print writes one line. Its error is found in p.out.
func (p *jsonPrinter) print(v any) { _ = p.encode.Encode(v) }

func (p *jsonPrinter) planned(j job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := j.plan
	if j.whole {
		plan.PartSize = max(plan.Size, 1)
	}
	if j.stream {
		plan = chunker.Plan{Size: j.size, PartSize: j.growth.First}
	}
	p.print(newPlanLine(j, plan, time.Now()))
}

// newPlanLine has no number of parts for a stream of which nobody can say one.
func newPlanLine(j job, plan chunker.Plan, t time.Time) planLine {
	l := planLine{head("plan", t), j.source, j.dest, plan.Size, plan.Len(), plan.PartSize}
	if j.unknown() {
		l.Size, l.Parts = 0, 0
	}
	return l
}

func (p *jsonPrinter) event(j job, e multipart.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case multipart.Planned:
		p.meters[j.dest] = newMeter(e.Time, j.total())
		p.print(newPlanLine(j, e.Plan, e.Time))
	case multipart.Created:
		p.print(createdLine{head("created", e.Time), j.dest, e.UploadID})
	case multipart.Resumed:
		m := p.meters[j.dest]
		m.skip(e.Done - m.done)
		p.print(resumedLine{head("resumed", e.Time), j.dest, e.UploadID, e.Parts, e.Done})
	case multipart.Attempted:
		p.print(newAttemptLine(j, e))
	case multipart.Waited:
		p.print(waitLine{head("wait", e.Time), j.dest, e.Op.String(), e.Part, e.Attempt, e.Wait.Milliseconds(), e.Reason})
	case multipart.Minted:
		p.print(mintLine{head("mint", e.Time), j.dest, e.Part, e.Reason})
	case multipart.Progressed:
		p.print(p.progress(j, e))
	case multipart.Warned:
		p.print(warningLine{head("warning", e.Time), j.dest, e.Err.Error()})
	}
}

func newAttemptLine(j job, e multipart.Event) attemptLine {
	a := attemptLine{
		line: head("attempt", e.Time), Dest: j.dest, Op: e.Op.String(), Part: e.Part, Attempt: e.Attempt,
		Status: e.Status, Code: e.Code, Class: e.Class.String(), Again: e.Again, Sent: e.Sent, ElapsedMS: e.Elapsed.Milliseconds(),
		RequestID: e.RequestID, Conn: e.Conn, Error: textOf(e.Err),
	}
	if e.Phase != 0 {
		a.Phase = e.Phase.String()
	}
	return a
}

func (p *jsonPrinter) progress(j job, e multipart.Event) progressLine {
	m := p.meters[j.dest] // every upload is planned first
	m.add(e.Time, e.Done)
	v := m.view(e.Time)
	l := progressLine{line: head("progress", e.Time), Dest: j.dest, Done: v.done, Total: v.total, Rate: int64(math.Round(v.rate)),
		Lanes: e.Lanes, Budget: e.Budget.Requests}
	if v.moving && v.known {
		ms := v.eta.Milliseconds()
		l.ETAMS = &ms
	}
	return l
}

func (p *jsonPrinter) breaker(endpoint string, from, to breaker.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(breakerLine{head("breaker", time.Now()), endpoint, from.String(), to.String()})
}

func (p *jsonPrinter) warned(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(warningLine{head("warning", time.Now()), "", err.Error()})
}

// stopping says nothing: what comes of it is in the results.
func (p *jsonPrinter) stopping() {}

func (p *jsonPrinter) result(o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !o.unbegun {
		delete(p.meters, o.job.dest)
	}
	r := o.result
	l := resultLine{
		line: head("result", time.Now()), Source: o.job.source, Dest: o.job.dest, OK: o.err == nil, Exit: o.code,
		ETag: r.ETag, VersionID: r.VersionID, Size: cmp.Or(r.Size, o.job.size), Parts: r.Parts,
		Attempts: r.Attempts, Retries: r.Retries, ElapsedMS: r.Elapsed.Milliseconds(), Error: textOf(o.err),
		ResumedParts: r.Resumed, Object: o.object(), Existing: r.Existing, UploadID: o.uploadID(),
		Resume: shellLine(o.hints.resume), Abort: shellLine(o.hints.abort),
	}
	if !r.Digest.IsZero() {
		l.Checksum = r.Digest.String()
	}
	p.print(l)
}

func (p *jsonPrinter) close(t totals) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.refused {
		p.print(summaryLine{head("summary", time.Now()), t.files, t.failed, t.bytes, t.sentBytes, t.requests, t.retries,
			t.mints, t.budgetLeft, t.elapsed.Milliseconds(), t.code})
	}
	if p.out.err != nil {
		return fmt.Errorf("write standard output: %w", p.out.err)
	}
	return nil
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
