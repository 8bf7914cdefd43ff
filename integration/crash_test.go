//go:build unix

package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/multipart/journal"
)

// crashSeed is the variable that makes a test run the rounds of an earlier one.
const crashSeed = "CHUNKUP_CRASH_SEED"

// Killed with kill -9 at every point of an upload, the command goes on when it is
// called again: in the end the object is there, nothing else is left, and what was
// sent twice had been on its way.
func TestCrash(t *testing.T) {
	crashes{rounds: 20, each: 1, most: 64 * mib, perSecond: 64 * mib}.run(t)
}

// window is when a run is killed.
type window struct {
	name string
	args []string // that the command needs for it

	// due tells whether this is the moment. It may wait for it.
	due func(*crashRun, faultproxy.Moment, faultproxy.Request) bool

	// after is the moment where no request tells it.
	after time.Duration
}

// at is a window that opens when a request of an operation gets so far.
func at(name string, op faultproxy.Op, m faultproxy.Moment) window {
	return window{name: name, due: func(_ *crashRun, now faultproxy.Moment, q faultproxy.Request) bool {
		return now == m && (op == faultproxy.Any || op == q.Op)
	}}
}

// windows are all of them, for an upload of so many parts.
func windows(parts int, random *rand.Rand) []window {
	nth, share := 1+random.Int64N(int64(parts)-1), random.Float64()
	return []window{
		at("before create", faultproxy.Any, faultproxy.Arrived), // it asks what the store is first
		at("create sent", faultproxy.Create, faultproxy.Arrived),
		at("create applied", faultproxy.Create, faultproxy.Answered),
		at("create answered", faultproxy.Create, faultproxy.Passed),
		{name: "journal written", due: (*crashRun).journalWritten},
		{name: "between parts", args: []string{"-c1"}, due: func(r *crashRun, m faultproxy.Moment, q faultproxy.Request) bool {
			return m == faultproxy.Passed && q.Op == faultproxy.PutPart && r.passed.Load() == nth
		}},
		{name: "in a part", due: func(r *crashRun, m faultproxy.Moment, q faultproxy.Request) bool {
			return m == faultproxy.Reading && q.Op == faultproxy.PutPart && r.parts.Load() >= nth && float64(q.BodyBytes) >= share*5*mib
		}},
		at("complete sent", faultproxy.Complete, faultproxy.Arrived),
		{name: "in complete", due: inComplete(time.Duration(random.Int64N(int64(10 * time.Millisecond))))},
		at("complete applied", faultproxy.Complete, faultproxy.Answered),
		at("after", faultproxy.Complete, faultproxy.Passed),
	}
}

// inComplete is a moment, so long after the store has the request, in which it is at
// work on the object perhaps.
func inComplete(after time.Duration) func(*crashRun, faultproxy.Moment, faultproxy.Request) bool {
	return func(_ *crashRun, m faultproxy.Moment, q faultproxy.Request) bool {
		if m != faultproxy.Sent || q.Op != faultproxy.Complete {
			return false
		}
		<-time.After(after)
		return true
	}
}

// journalWritten waits, after the answer to create, for the upload's id on disk.
func (r *crashRun) journalWritten(m faultproxy.Moment, q faultproxy.Request) bool {
	if m != faultproxy.Passed || q.Op != faultproxy.Create {
		return false
	}
	id, err := r.lab.uploadID()
	if err != nil {
		r.t.Errorf("the upload that was created: %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); !r.lab.journalNames(id); {
		if time.Now().After(deadline) {
			r.t.Error("the upload is not in the journal")
			break
		}
		<-time.After(100 * time.Microsecond)
	}
	return true
}

// crashes are many rounds.
type crashes struct {
	rounds    int
	each      int   // so many in each window, the rest at random moments
	most      int64 // size of the sources in bytes, 64 MiB at least
	perSecond int   // bytes that the link carries

	random *rand.Rand
	total  crashFigures
	kills  map[string]int
}

// crashFigures are what came of one round or of all.
type crashFigures struct {
	runs, kills           int
	size, twice, inFlight int64
	spoilt                int64 // sent to an upload that the store gave up
}

func (c crashes) run(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(crashSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", crashSeed, seed)
	c.random, c.kills = rand.New(rand.NewPCG(seed, 0)), map[string]int{}
	path, began := command(t), time.Now()
	for i, w := range c.plan() {
		size := 64*mib + c.random.Int64N(c.most-64*mib+1)
		t.Run(fmt.Sprintf("%d %s", i, w.name), func(t *testing.T) { c.round(t, path, w, size) })
	}
	for _, name := range slices.Sorted(maps.Keys(c.kills)) {
		t.Logf("%3d times killed %s", c.kills[name], name)
	}
	f := c.total
	t.Logf("%d rounds in %v: %d runs, %d of them killed; %.0f MiB of sources, %.1f MiB sent twice, %.1f MiB in flight when it was killed, %.1f MiB spoilt by the store",
		c.rounds, time.Since(began).Round(time.Second), f.runs, f.kills, float64(f.size)/mib, float64(f.twice)/mib, float64(f.inFlight)/mib, float64(f.spoilt)/mib)
}

// plan is the window of each round: each so often, the others at random moments.
func (c crashes) plan() (plan []window) {
	for range c.each {
		plan = append(plan, windows(64*mib/(5*mib), c.random)...)
	}
	for len(plan) < c.rounds {
		plan = append(plan, c.someTime())
	}
	c.random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	return plan
}

// someTime is a moment anywhere in an upload.
func (c crashes) someTime() window {
	all := 300*time.Millisecond + time.Duration(float64(c.most)/float64(c.perSecond)*float64(time.Second))
	return window{name: "at some time", after: time.Duration(c.random.Int64N(int64(all)))}
}

// again is the window of a run after another was killed; mostly none.
func (c crashes) again() window {
	switch c.random.IntN(6) {
	case 0:
		return c.someTime()
	case 1:
		all := slices.DeleteFunc(windows(4, c.random), func(w window) bool { return w.args != nil })
		return all[c.random.IntN(len(all))]
	}
	return window{name: "never"}
}

// round uploads one file until the command says that it is done.
func (c *crashes) round(t *testing.T, path string, w window, size int64) {
	l := newCrashLab(t, path, size, c.perSecond, w.args...)
	f := crashFigures{size: size}
	for first := true; ; first = false {
		f.runs++
		if killed := l.start(t, w).finish(); !killed {
			if left := l.files(); len(left) > 0 {
				t.Errorf("left behind: %s", strings.Join(left, ", "))
			}
			if first && w.due != nil && w.name != "after" {
				t.Errorf("there was no moment %s", w.name)
			}
			break
		}
		f.kills++
		c.kills[w.name]++
		t.Logf("killed %s, with %d of %d requests for parts answered", w.name, len(l.answered()), l.proxy.Count(faultproxy.PutPart))
		if l.done(t) {
			break // but for its last words, and perhaps for the file that was the journal's lock
		}
		w = c.again()
	}
	check.Equal(t, l.server.Client(), l.bucket, "key", l.src, size)
	check.NoUploads(t, l.server.Client(), l.bucket, "key")
	l.once(t, &f)
	c.total.add(f)
	l.remove(t)
}

func (a *crashFigures) add(b crashFigures) {
	a.runs += b.runs
	a.kills += b.kills
	a.size += b.size
	a.twice += b.twice
	a.inFlight += b.inFlight
	a.spoilt += b.spoilt
}

// answered are the requests for parts to which the store has said yes.
func (l *crashLab) answered() (list []faultproxy.Request) {
	for _, q := range l.proxy.Requests() {
		if q.Op == faultproxy.PutPart && q.Status == 200 {
			list = append(list, q)
		}
	}
	return list
}

// once fails the test unless each part was stored once, and whatever else was sent
// was on its way when a run was killed. What MinIO has spoilt is sent to another
// upload: it ends its work with the connection, and what a Complete that is cut off
// leaves may have no parts any more.
func (l *crashLab) once(t *testing.T, f *crashFigures) {
	t.Helper()
	type part struct {
		upload string
		number int
	}
	stored := map[part]bool{}
	var spoilt int64
	answered := l.answered()
	for _, q := range answered {
		p := part{q.UploadID, q.Part}
		if stored[p] {
			t.Errorf("part %d was at the store and was sent again", q.Part)
		}
		stored[p] = true
		if q.UploadID != answered[len(answered)-1].UploadID {
			spoilt += q.BodyBytes
			if !l.cutOff(q.UploadID) {
				t.Errorf("part %d was sent to an upload that was given up, and no Complete of it was cut off", q.Part)
			}
		}
	}
	f.spoilt = spoilt
	var sent, refused int64
	for _, q := range l.proxy.Requests() {
		if q.Op != faultproxy.PutPart {
			continue
		}
		sent += q.BodyBytes
		switch q.Status {
		case 0:
			f.inFlight += q.BodyBytes
		case 200:
		default: // by a store that has too much to do
			refused += q.BodyBytes
		}
	}
	f.twice = sent - refused - spoilt - f.size
	if f.twice > f.inFlight {
		t.Errorf("%d bytes were sent twice, %d were in flight", f.twice, f.inFlight)
	}
	if f.kills == 0 && f.inFlight > 0 {
		t.Errorf("%d bytes came to nothing, although nobody was killed", f.inFlight)
	}
}

// cutOff reports that a completion of the upload was at the store when its connection
// ended.
func (l *crashLab) cutOff(upload string) bool {
	return slices.ContainsFunc(l.proxy.Requests(), func(q faultproxy.Request) bool {
		return q.Op == faultproxy.Complete && q.UploadID == upload && q.Err != nil
	})
}

// done reports that there is an object, and no journal any more to go on from.
func (l *crashLab) done(t *testing.T) bool {
	t.Helper()
	journals, err := journal.Open(l.state).List()
	if err != nil {
		t.Error(err)
	}
	for _, j := range journals {
		if j.Err != nil || j.Live {
			t.Errorf("journal %s: live %t, %v", j.Path, j.Live, j.Err)
		}
	}
	key := "key"
	_, err = l.server.Client().HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &l.bucket, Key: &key})
	return err == nil && len(journals) == 0
}

// remove makes room for the next round.
func (l *crashLab) remove(t *testing.T) {
	key := "key"
	if _, err := l.server.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &l.bucket, Key: &key}); err != nil {
		t.Error(err)
	}
}
