package main

import (
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary is the sink and the SDK's peers as well: what it measures with.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"sink", "peer", "cell"}, os.Args[1]) {
		main()
		return
	}
	os.Exit(m.Run())
}

func ran(walls ...float64) []measurement {
	var all []measurement
	for _, w := range walls {
		all = append(all, measurement{Wall: w, CPU: w / 2, Stored: 2e9, Peak: 30e6, Requests: 10, Parts: 6, Pieces: 5, Received: 3e9, Objects: 2})
	}
	return all
}

func failed(m []measurement, how string) []measurement {
	return append(m, measurement{Wall: 1000, Failed: how, Capped: how == "killed"})
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 5}, spread{5, 1, 9}},
		{[]float64{4, 1, 2, 10}, spread{3, 1, 10}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("%v: %+v", c.values, got)
		}
	}
	if got := spreadOf(nil); !math.IsNaN(got.median) {
		t.Errorf("nothing: %+v", got)
	}
}

func example() outcome {
	mute := ran(1.5)
	mute[0].Unchecked = true
	return outcome{Row: "tls", Title: "1 GiB <over TLS>", Results: []result{
		{Name: "chunkup", Ours: true, Measurements: ran(1, 0.8, 3)},
		{Name: "fast, but fails", Measurements: failed(failed(ran(0.1), "exit status 1: `no`"), "exit status 1: no")},
		{Name: "never", Measurements: failed(nil, "killed")},
		{Name: "mute", Measurements: mute},
		{Name: "good", Measurements: ran(2, 2.5, 4)},
		{Name: "bad", Measurements: ran(5)},
	}}
}

// The best peer is the best of those that finished; those without checksums can be
// left out; failures are in no median.
func TestRatio(t *testing.T) {
	o := example()
	for _, c := range []struct {
		may  func(result) bool
		want float64
		peer string
	}{{anyPeer, 1 / 1.5, "mute"}, {checked, 1 / 2.5, "good"}} {
		ratio, peer, ok := o.ratio(wall, c.may)
		if !ok || math.Abs(ratio-c.want) > 1e-9 || peer != c.peer {
			t.Errorf("%v of %s", ratio, peer)
		}
	}
	o.Results = o.Results[:3]
	if _, _, ok := o.ratio(wall, anyPeer); ok {
		t.Error("there is a ratio to nobody")
	}
	o.Results[0].Measurements = failed(nil, "killed")
	if _, ok := o.ours(); ok {
		t.Error("there is a ratio of a failure")
	}
}

func TestPerGB(t *testing.T) {
	m := ran(4)[0]
	for name, c := range map[string][2]float64{
		"CPU": {cpuPerGB(m), 1}, "peak": {peakMB(m), 30}, "tries": {triesPerPiece(m), 1.2}, "sent": {sentPerStored(m), 1.5}, "requests": {requestsPerObject(m), 5},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %v, not %v", name, c[0], c[1])
		}
	}
}

func TestCap(t *testing.T) {
	for best, want := range map[time.Duration]time.Duration{0: patience, time.Millisecond: 10 * time.Second, 3 * time.Second: 30 * time.Second} {
		if got := capped(best); got != want {
			t.Errorf("%v: %v, not %v", best, got, want)
		}
	}
	if gaveUp(nil) || gaveUp(ran(1)) || gaveUp(failed(nil, "exit status 1")) || !gaveUp(failed(ran(1), "killed")) {
		t.Error("somebody goes on, or not")
	}
}

// Who has finished once is not stopped because somebody else is faster since.
func TestLimit(t *testing.T) {
	s := series{best: 2 * time.Second}
	for _, c := range []struct {
		want time.Duration
		done []measurement
	}{{20 * time.Second, nil}, {50 * time.Second, ran(21, 25, 22)}, {20 * time.Second, ran(3)}, {20 * time.Second, failed(nil, "no")}} {
		if got := s.limit(result{Measurements: c.done}); got != c.want {
			t.Errorf("%v: %v, not %v", c.done, got, c.want)
		}
	}
}

func TestTurn(t *testing.T) {
	if a, b := turn(3, 0), turn(3, 1); !slices.Equal(a, []int{0, 1, 2}) || !slices.Equal(b, []int{2, 1, 0}) {
		t.Error(a, b)
	}
}

func TestChoose(t *testing.T) {
	for names, want := range map[string]string{"tls": "tls", "http,tls": "tls http", "size-*": "size-1g size-10g size-100g"} {
		got, err := choose(rows(), names)
		if err != nil || strings.Join(rowNames(got), " ") != want {
			t.Errorf("%s: %v, %v", names, rowNames(got), err)
		}
	}
	if all, err := choose(rows(), ""); err != nil || len(all) != len(rows()) {
		t.Error(len(all), err)
	}
	if _, err := choose(rows(), "tls,nothing"); err == nil {
		t.Error("there is a row nothing")
	}
	names := rowNames(rows())
	if slices.Sort(names); len(slices.Compact(names)) != len(rows()) {
		t.Error("two rows have one name")
	}
}

func TestScaled(t *testing.T) {
	for _, r := range rows() {
		s := r.scaled(0.01)
		if r.fixed != (s.bytes() == r.bytes()) {
			t.Errorf("%s: %d of %d bytes", r.name, s.bytes(), r.bytes())
		}
	}
}

// By hand: 1448 bytes are a frame of 1514, which is 12112 bits.
func TestLinkTime(t *testing.T) {
	if got := linkTime(1448*1000, 12112*100); math.Abs(got-10) > 1e-9 {
		t.Error(got)
	}
}

// A contestant gets nothing of the caller's, and the settings it is told.
func TestCommands(t *testing.T) {
	t.Setenv("AWS_PROFILE", "mine")
	home := t.TempDir()
	for _, c := range append(contestants(), tuned(32)...) {
		for _, dir := range []bool{false, true} {
			j := job{store: &store{url: "https://host:1", ca: "/ca.pem"}, source: "/source", dir: dir, key: "key/", home: home}
			env := environment(j)
			if c.env != nil {
				env = append(env, c.env(j)...)
			}
			if args := strings.Join(c.args(j), " "); c.name == "aws" && !strings.Contains(args, "https://host:1") {
				t.Errorf("an old aws goes to Amazon's: %s", args)
			}
			all := strings.Join(append(c.args(j), env...), "\n")
			for _, part := range []string{"/source", bucket + "/key/", "https://host:1", "/ca.pem", "HOME=" + home} {
				if !strings.Contains(strings.ReplaceAll(all, accessKey+":"+secretKey+"@", ""), part) {
					t.Errorf("%s: %q is not in\n%s", c.name, part, all)
				}
			}
			if strings.Contains(all, "mine") {
				t.Errorf("%s sees the caller's profile", c.name)
			}
			j.part, j.concurrency = 17, 9
			equal := strings.Join(c.args(j), " ")
			if c.env != nil {
				equal += strings.Join(c.env(j), " ")
			}
			if config, err := os.ReadFile(filepath.Join(home, "aws-config")); err == nil && c.name == "aws" {
				equal += string(config)
			}
			if !slices.ContainsFunc(tuned(32), func(t contestant) bool { return t.name == c.name }) && (!strings.Contains(equal, "9") || !strings.Contains(equal, "17")) {
				t.Errorf("%s: no 17 MiB and no 9 at once in %s", c.name, equal)
			}
		}
	}
}

// Nobody waits for hours: what a link holds up for minutes is measured at once.
func TestSlowLinks(t *testing.T) {
	var slow []string
	for _, r := range rows() {
		if r.isSlow() {
			slow = append(slow, r.name)
		}
	}
	if !slices.Equal(slow, []string{"uplink"}) {
		t.Error(slow)
	}
}

// A whole row, small: the SDK's uploaders against the sink over TLS, with the sums of
// what they sent, a folder, and behind a link.
func TestSeries(t *testing.T) {
	l := &lab{dir: t.TempDir(), self: os.Args[0]}
	for _, r := range []row{
		{name: "file", sink: []string{"-tls"}, size: 6 * mib, equal: true},
		{name: "folder", size: 10, files: 12},
		{name: "link", size: 6 * mib, link: 100e6},
	} {
		s := series{lab: l, row: r, n: 1, say: io.Discard}
		o, err := s.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (o.Link > 0) != (r.link > 0) {
			t.Errorf("%s: the link's own time is %v", r.name, o.Link)
		}
		for _, c := range o.Results {
			for _, m := range c.Measurements {
				if c.Ours || m.Failed != "" || m.Stored != r.bytes() || m.Objects != int64(max(1, r.files)) || m.Wall <= 0 || m.Unchecked {
					t.Errorf("%s, %s: %+v", r.name, c.Name, m)
				}
			}
			if len(c.Measurements) != 1 || !c.counts() {
				t.Errorf("%s: %d measurements", c.Name, len(c.Measurements))
			}
		}
	}
}

// What stores nothing and says that all is well has failed.
func TestSilentFailure(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	l := &lab{dir: t.TempDir(), self: os.Args[0]}
	m, err := l.measure(t.Context(), trial{row: row{size: 5}, limit: time.Minute,
		contestant: contestant{program: func(*lab) string { return program }, args: func(job) []string { return nil }}})
	if err != nil || !strings.Contains(m.Failed, "the store has 0 of 5 bytes") {
		t.Errorf("%+v, %v", m, err)
	}
}

// Behind a link of its own an upload takes at least as long as the link, less
// what the bucket holds at first.
func TestCell(t *testing.T) {
	if !canShape(t.Context()) {
		t.Skip("this machine cannot shape a link, or not for this user")
	}
	l := &lab{dir: t.TempDir(), self: os.Args[0]}
	r, _ := rowNamed("uplink")
	r.size = 200_000
	source, err := l.source(r)
	if err != nil {
		t.Fatal(err)
	}
	field := l.field(r)
	i := slices.IndexFunc(field, func(c contestant) bool { return c.name == "manager" })
	m, err := l.measureInCell(t.Context(), trial{row: r, contestant: field[i], source: source, limit: time.Minute})
	if err != nil || m.Failed != "" || m.Objects != 1 || m.Wall < linkTime(r.size-20_000, r.link) {
		t.Errorf("%+v, %v", m, err)
	}
}
