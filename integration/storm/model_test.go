package storm

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The time at which so much work is done is that at which so much has been.
func TestStoreWorksAtItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Scenes(12)[0]
		s.Capacity = rapid.Float64Range(0.01, 1).Draw(t, "left")
		at := time.Duration(rapid.Int64Range(0, int64(s.over())).Draw(t, "time"))
		store := &store{scene: s}
		if again := store.when(store.worked(at)); (again - at).Abs() > time.Microsecond {
			t.Fatalf("at %v so much is done as at %v", at, again)
		}
	})
}

// A part that arrives at an idle store takes one part's time, one that arrives with
// it another; half the rate is twice the time.
func TestStoreQueues(t *testing.T) {
	s := Scenes(10)[1]
	s.Rate, s.Capacity = 10, 0.5
	store := &store{scene: s}
	for i, want := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond} {
		if got := store.take(0); (got - want).Abs() > time.Microsecond {
			t.Errorf("part %d is done at %v, want %v", i, got, want)
		}
	}
	if got, want := store.take(s.begins()), s.begins()+200*time.Millisecond; (got - want).Abs() > time.Microsecond {
		t.Errorf("in the fault: %v, want %v", got, want)
	}
}

// A store that sheds lets in what keeps it busy and half a second more.
func TestStoreSheds(t *testing.T) {
	s := Scenes(10)[2]
	s.Rate = 10
	store := &store{scene: s}
	in := 0
	for range 100 {
		if store.admit(0) {
			in++
		}
	}
	if in != 15 {
		t.Errorf("%d let in, want 15", in)
	}
	store.drop()
	if !store.admit(0) || store.admit(0) {
		t.Error("one that does not arrive makes room for one")
	}
}

// What a run looks like that pauses in the fault and comes back after 7 s.
func TestMeasure(t *testing.T) {
	s := Scenes(10)[1]
	s.Rate = 10
	trace := newRecord(s).trace()
	for i := range trace.Done {
		at := time.Duration(i) * s.Step
		trace.Attempts[i] = 20
		if !s.failing(at) && !(at >= s.ends() && at < s.ends()+7*time.Second) {
			trace.Done[i] = 10
		}
	}
	trace.Done[60] = 90 // of 180 that are possible
	f := Measure(trace)
	want := Figures{Before: 10, Attempts: 1200, Done: 90, Amplification: 1200. / 90, Share: 0.5, Recovery: 7, After: 113. / 120}
	if f != want {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

// The same for everybody: what an attempt meets in a scene.
func TestAttempt(t *testing.T) {
	for _, c := range []struct {
		scene int
		at    time.Duration // from the fault's beginning
		want  outcome
		takes time.Duration
	}{
		{0, -3 * time.Second, done, 1052083333},
		{0, -500 * time.Millisecond, stalled, 0},
		{0, -1021 * time.Millisecond, unanswered, 6020 * time.Millisecond},
		{0, time.Second, stalled, 5020 * time.Millisecond},
		{1, time.Second, done, 0},
		{2, time.Second, done, 0},
	} {
		s := Scenes(10)[c.scene]
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(s, 1)
			time.Sleep(s.begins() + c.at)
			start := time.Now()
			a := attempt{w: w}
			got, took := a.run(), time.Since(start)
			if got != c.want || c.takes > 0 && (took-c.takes).Abs() > time.Millisecond {
				t.Errorf("%s, %v: outcome %d after %v, want %d after %v", s.Name, c.at, got, took, c.want, c.takes)
			}
		})
	}
}

// Four who share a pipe take four times as long, and a part without progress for
// longer than its deadline ends there.
func TestPipeIsShared(t *testing.T) {
	s := Scenes(12)[4]
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(s, 1)
		p := &pipe{w: w}
		ends := make(chan time.Duration, 4)
		for range 4 {
			go func() {
				a := attempt{w: w, pipe: p}
				a.run()
				ends <- w.now()
			}()
		}
		for range 4 {
			if got, want := <-ends, 4*time.Duration(float64(s.Part)/s.Uplink.Wide*float64(time.Second)); (got - want).Abs() > 200*time.Millisecond {
				t.Errorf("took %v, want %v", got, want)
			}
		}
		a := attempt{w: w, pipe: p, send: func() time.Duration { return 200 * time.Millisecond }}
		start := w.now()
		if out := a.run(); out != slow || w.now()-start != 200*time.Millisecond {
			t.Errorf("outcome %d after %v", out, w.now()-start)
		}
	})
}

func TestFigureIsXML(t *testing.T) {
	s := Scenes(12)[4]
	trace := newRecord(s).trace()
	trace.Budget, trace.Lanes = make([]float64, len(trace.Done)), make([]float64, len(trace.Done))
	trace.Attempts[7] = 1
	results := []Result{{Scene: s, Policy: "a", Mean: trace}, {Scene: s, Policy: "b", Mean: trace}}
	d := xml.NewDecoder(strings.NewReader(Figure(results)))
	paths := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			paths++
		}
	}
	if paths < 6 {
		t.Errorf("%d lines drawn", paths)
	}
}

func TestTableShowsWhatIsNotThere(t *testing.T) {
	s := Scenes(12)
	got := Table([]Result{
		{Scene: s[0], Policy: "chunkup", Figures: Figures{Before: 192, Attempts: 1234567, Amplification: math.Inf(1), Share: math.NaN(), Recovery: 3, After: 0.9}},
		{Scene: s[1], Policy: "naive", Figures: Figures{Recovery: math.Inf(1), Amplification: 2.5, Share: 0.5}},
	})
	for _, want := range []string{
		"| **chunkup** | 192/s | 1 234 567 | – | 0 | – | 3 s | 90 % | 0 | 0 |\n",
		"| naive | 0/s | 0 | 2.50× | 0 | 50 % | not in 2 min | 0 % | 0 | 0 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, got)
		}
	}
}
