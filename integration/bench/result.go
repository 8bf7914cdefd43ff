package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// measurement is one upload by one contestant. Times are in seconds.
type measurement struct {
	Wall        float64 `json:"wall"`
	CPU         float64 `json:"cpu"`
	Peak        int64   `json:"peak,omitempty"` // bytes
	SinkCPU     float64 `json:"sink_cpu,omitempty"`
	Requests    int64   `json:"requests,omitempty"`
	Parts       int64   `json:"parts,omitempty"` // requests with a body of a part or an object
	Received    int64   `json:"received,omitempty"`
	Stored      int64   `json:"stored"`
	Objects     int64   `json:"objects,omitempty"`
	Pieces      int64   `json:"pieces,omitempty"` // parts and whole objects that those were made of
	Connections int64   `json:"connections,omitempty"`
	Refused     int64   `json:"refused,omitempty"`
	Frozen      int64   `json:"frozen,omitempty"`
	Unchecked   bool    `json:"unchecked,omitempty"`    // bodies without a checksum
	AfterOutage float64 `json:"after_outage,omitempty"` // the end of the outage to that of the upload
	Capped      bool    `json:"capped,omitempty"`
	Failed      string  `json:"failed,omitempty"` // what it said; empty: it finished
}

// result is all that a contestant did in a row.
type result struct {
	Name         string        `json:"name"`
	Ours         bool          `json:"ours,omitempty"`
	Measurements []measurement `json:"measurements"`
}

// finished are the measurements that count.
func (r result) finished() []measurement {
	return slices.DeleteFunc(slices.Clone(r.Measurements), func(m measurement) bool { return m.Failed != "" })
}

// counts tells whether it finished more often than not: only then is there a median.
func (r result) counts() bool { return 2*len(r.finished()) > len(r.Measurements) }

func (r result) unchecked() bool {
	return slices.ContainsFunc(r.Measurements, func(m measurement) bool { return m.Unchecked })
}

// spread is the median of some values, with the least and the greatest.
type spread struct{ median, low, high float64 }

func (r result) spread(of func(measurement) float64) spread {
	var values []float64
	for _, m := range r.finished() {
		values = append(values, of(m))
	}
	return spreadOf(values)
}

// spreadOf is NaN if there is none.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return spread{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, low: sorted[0], high: sorted[n-1]}
}

func wall(m measurement) float64     { return m.Wall }
func cpu(m measurement) float64      { return m.CPU }
func cpuPerGB(m measurement) float64 { return m.CPU / (float64(m.Stored) / 1e9) }
func peakMB(m measurement) float64   { return float64(m.Peak) / 1e6 }
func requests(m measurement) float64 { return float64(m.Requests) }

// triesPerPiece is how many requests with a body it took for each part or object.
func triesPerPiece(m measurement) float64 { return float64(m.Parts) / float64(m.Pieces) }

// sentPerStored is how many bytes of bodies, of requests to complete among them, went
// up for each byte that is stored.
func sentPerStored(m measurement) float64 { return float64(m.Received) / float64(m.Stored) }

func requestsPerObject(m measurement) float64 { return float64(m.Requests) / float64(m.Objects) }

func afterOutage(m measurement) float64 { return m.AfterOutage }

// outcome is a row with what came of it.
type outcome struct {
	Row     string    `json:"row"`
	Title   string    `json:"title"`
	Size    int64     `json:"size"`            // of a file
	Files   int       `json:"files,omitempty"` // 0: one
	Link    float64   `json:"link,omitempty"`  // seconds that the link needs by itself
	Machine string    `json:"machine"`
	Build   string    `json:"build,omitempty"` // chunkup's commit
	Peers   []string  `json:"peers,omitempty"` // what they say of their versions
	Date    time.Time `json:"date"`
	Note    string    `json:"note,omitempty"`
	Results []result  `json:"results"`
}

// times is how often the row was measured.
func (o outcome) times() int {
	most := 0
	for _, r := range o.Results {
		most = max(most, len(r.Measurements))
	}
	return most
}

// builds says what was measured.
func (o outcome) builds() string {
	if o.Build == "" {
		return ""
	}
	return " chunkup " + strings.Join(append([]string{o.Build}, o.Peers...), ", ") + "."
}

// ours is chunkup's result.
func (o outcome) ours() (result, bool) {
	i := slices.IndexFunc(o.Results, func(r result) bool { return r.Ours })
	if i < 0 || !o.Results[i].counts() {
		return result{}, false
	}
	return o.Results[i], true
}

// best is the peer with the least median of something, of those that may be.
func (o outcome) best(of func(measurement) float64, may func(result) bool) (result, bool) {
	peers := slices.DeleteFunc(slices.Clone(o.Results), func(r result) bool { return r.Ours || !r.counts() || !may(r) })
	if len(peers) == 0 {
		return result{}, false
	}
	return slices.MinFunc(peers, func(a, b result) int {
		return cmp.Compare(a.spread(of).median, b.spread(of).median)
	}), true
}

func anyPeer(result) bool   { return true }
func checked(r result) bool { return !r.unchecked() }

// ratio is chunkup's median over the best peer's. It is not there if either did not
// finish.
func (o outcome) ratio(of func(measurement) float64, may func(result) bool) (ratio float64, peer string, ok bool) {
	us, ok := o.ours()
	if !ok {
		return 0, "", false
	}
	best, ok := o.best(of, may)
	if !ok {
		return 0, "", false
	}
	return us.spread(of).median / best.spread(of).median, best.Name, true
}
