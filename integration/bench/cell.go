package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/chunkup/chunkup/integration/bench/child"
)

// cell is what a measurement in a network of its own is told.
type cell struct {
	Dir, Self, Chunkup string
	Peers              map[string]string
	Row                string
	Scale              float64
	Contestant         string
	Source             string
	Number             int
	Limit              time.Duration
}

// measurer measures one trial.
type measurer func(context.Context, trial) (measurement, error)

// behindLink returns what measures behind the row's link, each trial behind one of its
// own, and says in o how long the link takes itself.
func (s *series) behindLink(ctx context.Context, o *outcome) measurer {
	o.Link = linkTime(s.row.bytes(), s.row.link)
	if canShape(ctx) {
		return s.lab.measureInCell
	}
	o.Note = "This machine cannot shape a link: the sink reads at its rate instead."
	s.row.sink = append(s.row.sink, "-total-rate", fmt.Sprint(s.row.link/8*1448/1514))
	return s.lab.measure
}

// isSlow reports that the link is so slow that in turns a row would take hours, and with
// all at the same time it is still the bottleneck by far.
func (r row) isSlow() bool { return r.link > 0 && r.link < 10e6 }

// atOnce measures everybody at the same time.
func (s *series) atOnce(ctx context.Context, o outcome, field []contestant, source string, measure measurer) (outcome, error) {
	limit := time.Duration(3 * o.Link * float64(time.Second))
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for i := range s.n {
		for k, c := range field {
			wg.Go(func() {
				m, err := measure(ctx, trial{row: s.row, contestant: c, source: source, number: i, limit: limit})
				mu.Lock()
				defer mu.Unlock()
				if failed = errors.Join(failed, err); err == nil {
					s.add(&o.Results[k], m)
				}
			})
		}
	}
	wg.Wait()
	return o, failed
}

// canShape tries to make a network with a shaped device in it.
func canShape(ctx context.Context) bool {
	cmd := exec.CommandContext(ctx, "tc", shape("lo", 1e6)...)
	child.NewNetwork(cmd)
	return cmd.Run() == nil
}

func shape(device string, bits float64) []string {
	return []string{"qdisc", "add", "dev", device, "root", "tbf", "rate", strconv.FormatFloat(bits, 'f', 0, 64) + "bit", "burst", "16kb", "latency", "200ms"}
}

// measureInCell measures in a process that has a network of its own.
func (l *lab) measureInCell(ctx context.Context, t trial) (m measurement, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return m, err
	}
	defer in.Close()
	cmd := exec.Command(l.self, "cell")
	child.NewNetwork(cmd)
	cmd.Stdout = out
	order, err := json.Marshal(cell{Dir: l.dir, Self: l.self, Chunkup: l.chunkup, Peers: l.peers, Row: t.row.name, Scale: float64(t.row.size),
		Contestant: t.contestant.name, Source: t.source, Number: t.number, Limit: t.limit})
	if err != nil {
		return m, errors.Join(err, out.Close())
	}
	cmd.Env = append(os.Environ(), "BENCH_CELL="+string(order))
	process, err := child.Start(cmd)
	_ = out.Close() // the child has it
	if err != nil {
		return m, err
	}
	defer process.Kill()
	stop := context.AfterFunc(ctx, process.Kill)
	defer stop()
	answer, err := io.ReadAll(in)
	if err == nil {
		err = json.Unmarshal(answer, &m)
	}
	if err != nil {
		return m, fmt.Errorf("a cell failed: %w\n%s", err, process.Output())
	}
	return m, nil
}

// The addresses of the two ends of a cell's link.
const (
	clientEnd = "10.77.0.1"
	sinkEnd   = "10.77.0.2"
)

// runCell is the process in the network of its own.
func runCell(ctx context.Context, stdout io.Writer) error {
	var c cell
	if err := json.Unmarshal([]byte(os.Getenv("BENCH_CELL")), &c); err != nil {
		return err
	}
	l := &lab{dir: c.Dir, self: c.Self, chunkup: c.Chunkup, peers: c.Peers}
	t := trial{source: c.Source, number: c.Number, limit: c.Limit}
	for _, r := range rows() {
		if r.name == c.Row {
			t.row = r
			t.row.size = int64(c.Scale)
		}
	}
	for _, one := range l.field(t.row) {
		if one.name == c.Contestant {
			t.contestant = one
		}
	}
	if t.contestant.program == nil {
		return fmt.Errorf("there is no row %q or no contestant %q", c.Row, c.Contestant)
	}
	at, err := l.openBehindLink(ctx, t.row)
	if err != nil {
		return err
	}
	defer at.close()
	t.store = at
	m, err := l.measure(ctx, t)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(m)
}

// openBehindLink starts a sink in another new network, and connects the two with a
// pair of devices, of which that on this side is shaped.
func (l *lab) openBehindLink(ctx context.Context, r row) (*store, error) {
	at, err := l.openSink(append([]string{"-listen", "0.0.0.0:0", "-control", "0.0.0.0:0"}, r.sink...), child.NewNetwork)
	if err != nil {
		return nil, err
	}
	pid := strconv.Itoa(at.process.Pid())
	for _, step := range [][]string{
		{"ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", pid},
		{"ip", "addr", "add", clientEnd + "/24", "dev", "near"},
		{"ip", "link", "set", "near", "up"},
		{"ip", "link", "set", "lo", "up"},
		{"nsenter", "-t", pid, "-n", "ip", "addr", "add", sinkEnd + "/24", "dev", "far"},
		{"nsenter", "-t", pid, "-n", "ip", "link", "set", "far", "up"},
		append([]string{"tc"}, shape("near", r.link)...),
	} {
		if out, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil {
			at.close()
			return nil, fmt.Errorf("%v: %w\n%s", step, err, out)
		}
	}
	at.at(sinkEnd)
	return at, nil
}
