package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/chunkup/chunkup/integration/bench/child"
)

// patience bounds what has nothing to be compared with yet.
const patience = 15 * time.Minute

// capped is how long a contestant may take: ten times the best so far, but at least
// as long as one that starts slowly needs to show that it works.
func capped(best time.Duration) time.Duration {
	if best == 0 {
		return patience
	}
	return max(10*best, 10*time.Second)
}

// series measures a row: all contestants n times, in turns.
type series struct {
	lab  *lab
	row  row
	n    int
	say  io.Writer
	best time.Duration // of all that finished
}

func (s *series) run(ctx context.Context) (outcome, error) {
	source, err := s.lab.source(s.row)
	if err != nil {
		return outcome{}, fmt.Errorf("the source of %s: %w", s.row.name, err)
	}
	o := outcome{Row: s.row.name, Title: s.row.title, Size: s.row.size, Files: s.row.files, Machine: machine(), Build: s.lab.build, Peers: s.lab.versions, Date: time.Now().UTC().Truncate(time.Second)}
	field := s.lab.field(s.row)
	for _, c := range field {
		o.Results = append(o.Results, result{Name: c.name, Ours: c.ours})
	}
	measure := s.lab.measure
	if s.row.link > 0 {
		measure = s.behindLink(ctx, &o)
	}
	if s.row.isSlow() {
		return s.atOnce(ctx, o, field, source, measure)
	}
	shared, err := s.shared(ctx)
	if err != nil {
		return o, err
	}
	if shared != nil {
		defer shared.close()
	}
	for i := range s.n {
		for _, k := range turn(len(field), i) {
			r := &o.Results[k]
			if gaveUp(r.Measurements) {
				continue
			}
			m, err := measure(ctx, trial{row: s.row, contestant: field[k], source: source, number: i, store: shared, limit: s.limit(*r)})
			if err != nil {
				return o, err
			}
			s.add(r, m)
		}
	}
	return o, nil
}

// limit is how long a contestant may take. One that has finished may take twice as
// long as it has at most: that others have got faster since does not stop it.
func (s *series) limit(r result) time.Duration {
	longest := r.spread(wall).high
	if math.IsNaN(longest) {
		longest = 0
	}
	return max(capped(s.best), time.Duration(2*longest*float64(time.Second)))
}

// shared is a store for the whole row; nil where each measurement has its own.
func (s *series) shared(ctx context.Context) (*store, error) {
	if s.row.venue == "" {
		return nil, nil
	}
	return s.lab.open(ctx, s.row, 0)
}

func (s *series) add(r *result, m measurement) {
	r.Measurements = append(r.Measurements, m)
	if took := time.Duration(m.Wall * float64(time.Second)); m.Failed == "" && (s.best == 0 || took < s.best) {
		s.best = took
	}
	fmt.Fprintf(s.say, "%s: %s\n", s.row.name, line(r.Name, m))
}

// turn is the order of n contestants in a repetition: forwards, then backwards.
func turn(n, repetition int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if repetition%2 == 1 {
			order[i] = n - 1 - i
		}
	}
	return order
}

// gaveUp tells whether a contestant was stopped once: it will not be faster, and the
// others are waiting.
func gaveUp(done []measurement) bool {
	return len(done) > 0 && done[len(done)-1].Capped
}

// trial is what is measured once.
type trial struct {
	row        row
	contestant contestant
	source     string
	number     int
	store      *store // nil: a sink of its own
	limit      time.Duration
}

// measure measures once. An error is none of the contestant's.
func (l *lab) measure(ctx context.Context, t trial) (measurement, error) {
	at := t.store
	if at == nil {
		var err error
		if at, err = l.open(ctx, t.row, t.number); err != nil {
			return measurement{}, err
		}
		defer at.close()
	}
	home, err := os.MkdirTemp(l.dir, "home-")
	if err != nil {
		return measurement{}, err
	}
	defer os.RemoveAll(home)
	j := job{store: at, source: t.source, dir: t.row.files > 0, key: "object", home: home}
	if j.dir {
		j.key = "folder/"
	}
	if t.row.equal {
		j.part, j.concurrency = 16, 8
	}
	cmd := exec.Command(t.contestant.program(l), t.contestant.args(j)...)
	cmd.Dir, cmd.Env = home, environment(j)
	if t.contestant.env != nil {
		cmd.Env = append(cmd.Env, t.contestant.env(j)...)
	}
	before := child.CPUOf(at.process.Pid())
	u := child.Run(ctx, cmd, t.limit)
	if err := ctx.Err(); err != nil {
		return measurement{}, err
	}
	m := measurement{Wall: u.Wall.Seconds(), CPU: u.CPU.Seconds(), Peak: u.Peak, Capped: u.Capped,
		SinkCPU: (child.CPUOf(at.process.Pid()) - before).Seconds(), Stored: t.row.bytes()}
	if u.Err != nil {
		m.Failed = fmt.Sprintf("%v: %s", u.Err, lastLine(u.Output))
	}
	return l.count(ctx, m, at, time.Now())
}

// count adds what the store saw, and makes it forget.
func (l *lab) count(ctx context.Context, m measurement, at *store, ended time.Time) (measurement, error) {
	if at.control == "" {
		if m.Failed == "" {
			stored, err := at.stored(ctx)
			if err != nil {
				return m, fmt.Errorf("what the store has: %w", err)
			}
			m = m.proved(stored)
		}
		return m, at.forget()
	}
	c, err := at.counters(ctx)
	if err != nil {
		return m, fmt.Errorf("the sink's counters: %w", err)
	}
	m.Requests, m.Parts, m.Received, m.Objects, m.Pieces = c.Total, c.Parts(), c.Received, c.Objects, c.Pieces
	m.Connections, m.Refused, m.Frozen, m.Unchecked = c.Connections, c.Refused, c.Frozen, c.Unchecked > 0
	if c.OutageOver != nil {
		m.AfterOutage = ended.Sub(*c.OutageOver).Seconds()
	}
	return m.proved(c.Stored), nil
}

// proved does not believe a contestant whose bytes are not there.
func (m measurement) proved(stored int64) measurement {
	if m.Failed == "" && stored != m.Stored {
		m.Failed = fmt.Sprintf("it says that all is well, and the store has %d of %d bytes", stored, m.Stored)
	}
	return m
}

// bytes is how much the row uploads.
func (r row) bytes() int64 { return r.size * int64(max(1, r.files)) }

// lastLine is the last thing that a program said, without what a terminal makes of it.
func lastLine(output string) string {
	lines := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' || r == '\r' })
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return ""
	}
	last := strings.TrimSpace(lines[len(lines)-1])
	return last[:min(len(last), 300)]
}
