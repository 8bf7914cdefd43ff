package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is one kind of work.
type row struct {
	name  string
	title string

	venue string   // empty: a sink; minio, minio-tls or sandbox
	sink  []string // the sink's flags
	link  float64  // bits a second of the link before the sink, in networks of their own; 0: none

	size   int64 // bytes of the file, or of each
	files  int   // 0: one file, else a folder
	sparse bool

	atOnce []int // files that the tuned peers have under way

	alone bool  // chunkup only: there is nothing to compare
	equal bool  // everybody with parts of 16 MiB, 8 at once
	fixed bool  // not scaled
	most  int   // repetitions at most; 0: as many as are asked for
	goals goals // of chunkup
}

// goals are what chunkup is to reach: ratios to the best peer. Zero is no goal.
type goals struct {
	wall, cpu   float64
	peak        float64 // MB, no ratio
	link        float64 // of the link's own time
	requests    float64 // with parts or objects, of the parts or objects
	afterOutage float64 // seconds
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	gb  = int64(1e9)
)

// rows are all, in the order of the table.
func rows() []row {
	return append([]row{
		{name: "tls", title: "1 GiB to the sink over TLS", sink: []string{"-tls"}, size: gib, goals: goals{wall: 0.70, cpu: 0.75, peak: 40}},
		{name: "tls-equal", title: "1 GiB to the sink over TLS, everybody 8 parts of 16 MiB at once", sink: []string{"-tls"}, size: gib, equal: true},
		{name: "http", title: "1 GiB to the sink over HTTP", size: gib, goals: goals{wall: 0.65, cpu: 0.75}},
		{name: "http-equal", title: "1 GiB to the sink over HTTP, everybody 8 parts of 16 MiB at once", size: gib, equal: true},
		{name: "minio", title: "1 GiB to MinIO", venue: "minio", size: gib, goals: goals{wall: 0.95, cpu: 0.6}},
		{name: "minio-tls", title: "1 GiB to MinIO over TLS", venue: "minio-tls", size: gib},
		{name: "sandbox", title: "1 GiB to the embedded gateway (chunkup sandbox)", venue: "sandbox", size: gib},
		{name: "files-4k", title: "10,000 files of 4 KiB to MinIO", venue: "minio", size: 4 * kib, files: 10000, atOnce: []int{32, 128}, goals: goals{wall: 0.9}},
		{name: "files-64k", title: "2,000 files of 64 KiB to MinIO", venue: "minio", size: 64 * kib, files: 2000, atOnce: []int{32, 128}, goals: goals{wall: 0.9}},
		{name: "files-late", title: "10,000 files of 4 KiB, answers 50 ms late", sink: []string{"-answer-delay", "50ms"}, size: 4 * kib, files: 10000, atOnce: []int{256}},
		{name: "slow-connections", title: "1 GiB, 10 MB/s per connection, 200 MB/s in all", sink: []string{"-conn-rate", "10e6", "-total-rate", "200e6"}, size: gib, goals: goals{wall: 0.6}},
		{name: "late-answers", title: "1 GiB, answers 80 ms late, 20 MB/s per connection", sink: []string{"-conn-rate", "20e6", "-answer-delay", "80ms"}, size: gib, goals: goals{wall: 0.8}},
		{name: "uplink", title: "64 MiB through an uplink of 2 Mbit/s", link: 2e6, size: 64 * mib, goals: goals{link: 1.02}},
		{name: "link", title: "256 MiB through a link of 100 Mbit/s", link: 100e6, size: 256 * mib, goals: goals{link: 1.02}},
		{name: "refusals", title: "4 GiB (a sparse file), 5 % of the parts refused with 503", sink: []string{"-refuse", "0.05"}, size: 4 * gib, sparse: true, goals: goals{wall: 0.8, requests: 1.08}},
		{name: "freezes", title: "1 GiB, one connection in twenty freezes; 20 MB/s per connection, four requests each", sink: []string{"-conn-rate", "20e6", "-freeze", "20", "-conn-uses", "4"}, size: gib, goals: goals{wall: 0.5}},
		{name: "outage", title: "1 GiB at 100 MB/s in all, cut off for 20 s in the middle", sink: []string{"-total-rate", "100e6", "-outage", "20s", "-outage-after", "500e6"}, size: gib, fixed: true, goals: goals{afterOutage: 35}},
		{name: "silence", title: "1 GiB at 100 MB/s in all, nothing read and answered for 20 s in the middle", sink: []string{"-total-rate", "100e6", "-outage", "20s", "-outage-after", "500e6", "-outage-silent"}, size: gib, fixed: true, goals: goals{afterOutage: 35}},
	}, growth()...)
}

// growth are the rows that show what chunkup takes as the work grows.
func growth() []row {
	var all []row
	for _, n := range []int64{1, 10, 100} {
		all = append(all, row{name: fmt.Sprintf("size-%dg", n), title: fmt.Sprintf("%d GB (a sparse file) to the sink over HTTP", n), size: n * gb, sparse: true, alone: true})
	}
	for _, n := range []int{1, 10, 100, 1000} {
		all = append(all, row{name: fmt.Sprintf("count-%dk", n), title: thousands(n) + " files of 4 KiB to the sink over HTTP", size: 4 * kib, files: n * 1000, alone: true, most: min(5, 1000/n)})
	}
	for _, n := range []int{0, 1, 5, 10, 20} {
		all = append(all, row{name: fmt.Sprintf("faults-%d", n), title: fmt.Sprintf("4 GiB (a sparse file), %d %% of the parts refused with 503", n), size: 4 * gib, sparse: true, alone: true, sink: []string{"-refuse", fmt.Sprint(float64(n) / 100)}})
	}
	return all
}

// thousands writes n × 1000, n up to 1000.
func thousands(n int) string {
	if n == 1000 {
		return "1,000,000"
	}
	return fmt.Sprintf("%d,000", n)
}

// scaled makes the work smaller.
func (r row) scaled(by float64) row {
	switch {
	case r.fixed:
	case r.files > 0:
		r.files = max(10, int(float64(r.files)*by))
	default:
		r.size = max(1, int64(float64(r.size)*by))
	}
	return r
}

// choose picks rows by their names; a name that ends in * stands for all that begin so.
func choose(all []row, names string) ([]row, error) {
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	is := func(r row, name string) bool {
		prefix, ok := strings.CutSuffix(name, "*")
		return r.name == name || ok && strings.HasPrefix(r.name, prefix)
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(r row) bool { return is(r, name) }) {
			return nil, fmt.Errorf("there is no row %q: there are %s", name, strings.Join(rowNames(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(r row) bool {
		return !slices.ContainsFunc(wanted, func(name string) bool { return is(r, name) })
	}), nil
}

func rowNames(all []row) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.name)
	}
	return names
}

// field are the contestants of a row that are on this machine.
func (l *lab) field(r row) []contestant {
	all := contestants()
	for _, n := range r.atOnce {
		all = append(all, tuned(n)...)
	}
	return slices.DeleteFunc(all, func(c contestant) bool { return c.program(l) == "" || r.alone && !c.ours })
}

// linkTime is what the link needs by itself for size bytes, in seconds: 1448 of them
// are in a frame of 1514, as the kernel counts it (1500 with the heads of IP, and of
// TCP with timestamps; 14 of Ethernet).
func linkTime(size int64, bits float64) float64 {
	return float64(size) * 8 * 1514 / 1448 / bits
}
