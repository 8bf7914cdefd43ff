package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

const (
	// manyLanes is the ceiling where there may be many small files: each is waited for as
	// long as the store is far, whatever its size, and takes little memory.
	manyLanes = 256

	// otherFiles are those that the process has open for itself, or nearly so.
	otherFiles = 30

	enoughFiles = otherFiles + 3*manyLanes

	// autoRetries is the budget where the lanes do not say how large it is.
	autoRetries = 10
)

// tuningFlags say how objects are cut, how long to wait and how often to try.
type tuningFlags struct {
	partSize    int64
	threshold   int64
	concurrency int
	many        bool // files, however large
	workers     int
	bandwidth   int64
	memory      int64
	expected    int64 // bytes of standard input; 0: unknown

	connect, overhead, stall, answer time.Duration
	minRate                          int64
	timeout                          time.Duration

	maxAttempts   int
	maxElapsed    time.Duration
	backoff       multipart.Backoff
	retryAfterCap time.Duration

	retryBudget, retryRatio, retryFloor float64

	breakerFailures                     int
	breakerCooldown, breakerMaxCooldown time.Duration
}

func (t *tuningFlags) parts(set *pflag.FlagSet) {
	define(set, &t.partSize, label{"part-size", "", "auto", "SIZE", "size of the parts; auto is 8MiB to 64MiB, by the size of the file, or what the number of parts asks for"}, parsePartSize)
	define(set, &t.threshold, label{"multipart-threshold", "", "16MiB", "SIZE", "smaller files go up in one PUT; 0 sends all but empty ones in parts"}, parseThreshold)
	define(set, &t.concurrency, label{"concurrency", "c", "0", "N", fmt.Sprintf("ceiling on parts in flight over all files; how many there are below it is found out, from %d on; 0 is %d, for folders and lists %d", multipart.DefaultLanes, multipart.MaxLanes, manyLanes)}, atLeast(0))
	define(set, &t.workers, label{"workers", "", "0", "N", fmt.Sprintf("files under way at once; 0 is as many as have two parts for each part that may be in flight, %d at the least and %d at the most", fewestFiles, mostFiles)}, atLeast(0))
	define(set, &t.bandwidth, label{"bwlimit", "", "none", "RATE", "how much the whole command sends in a second"}, parseBandwidth)
	define(set, &t.memory, label{"memory", "", "256MiB", "SIZE", "bound on buffers, which only standard input needs: parts of files are read in place"}, parseMemory)
	define(set, &t.expected, label{"expected-size", "", "", "SIZE", "about how much standard input has, from which the size of its parts is chosen; say rather too much"}, parseSize)
}

func (t *tuningFlags) deadlines(set *pflag.FlagSet) {
	define(set, &t.connect, label{"connect-timeout", "", "10s", "DURATION", "dial and TLS"}, longerThanZero)
	define(set, &t.minRate, label{"min-rate", "", "200kB/s", "RATE", "the floor of the link that sizes a part's deadline: bytes × parts in flight / min-rate + overhead"}, parseRate)
	define(set, &t.overhead, label{"overhead", "", "15s", "DURATION", "the fixed share of that deadline"}, longerThanZero)
	define(set, &t.stall, label{"stall-timeout", "", "15s", "DURATION", "no byte of the body accepted for so long"}, longerThanZero)
	define(set, &t.answer, label{"answer-timeout", "", "70s", "DURATION", "body sent, no status line yet (completing an upload: ten times this)"}, longerThanZero)
	define(set, &t.timeout, label{"timeout", "", "0s", "DURATION", "the whole command; 0 is no limit"}, zeroOrLonger)
}

func (t *tuningFlags) retries(set *pflag.FlagSet) {
	define(set, &t.maxAttempts, label{"max-attempts", "", "5", "N", "failures in a row of one operation with no other part succeeding in between (four times that, whatever happens)"}, atLeast(1))
	define(set, &t.maxElapsed, label{"max-elapsed", "", "3m", "DURATION", "how long an upload may go on with no byte of it acknowledged; 0 is for ever"}, zeroOrLonger)
	define(set, &t.backoff.Base, label{"backoff-base", "", "500ms", "DURATION", "the first wait; it doubles with every failure"}, longerThanZero)
	define(set, &t.backoff.Cap, label{"backoff-cap", "", "15s", "DURATION", "the longest wait"}, longerThanZero)
	define(set, &t.backoff.Jitter, label{"jitter", "", "full", "KIND", "how a wait is drawn below its ceiling: none, full or equal"}, parseJitter)
	define(set, &t.retryAfterCap, label{"retry-after-cap", "", "60s", "DURATION", "a longer Retry-After is cut to this"}, longerThanZero)
	define(set, &t.retryBudget, label{"retry-budget", "", "auto", "N", "capacity of the budget in retries; auto is max(10, --concurrency)"}, parseBudget)
	define(set, &t.retryRatio, label{"retry-ratio", "", "0.1", "N", "what a success earns, in retries"}, zeroOrMore)
	define(set, &t.retryFloor, label{"retry-floor", "", "0.5", "N", "what a second earns, in retries"}, zeroOrMore)
	define(set, &t.breakerFailures, label{"breaker-failures", "", "5", "N", "operations that fail in a row before all wait for one probe"}, atLeast(1))
	define(set, &t.breakerCooldown, label{"breaker-cooldown", "", "1s", "DURATION", "the wait before the first probe; it doubles while probes fail"}, longerThanZero)
	define(set, &t.breakerMaxCooldown, label{"breaker-max-cooldown", "", "30s", "DURATION", "where that doubling ends"}, longerThanZero)
}

// limits are the deadlines of an attempt.
func (t *tuningFlags) limits() wire.Limits {
	return wire.Limits{Connect: t.connect, MinRate: t.minRate, Overhead: t.overhead, Stall: t.stall, Answer: t.answer}
}

// endpoint is what all files share.
func (t *tuningFlags) endpoint() multipart.EndpointOptions {
	o := multipart.EndpointOptions{
		Lanes: t.concurrency, Bandwidth: t.bandwidth,
		Budget: budget.Options{Retries: t.retryBudget, Ratio: noneIfZero(t.retryRatio), Floor: noneIfZero(t.retryFloor)},
		Breaker: breaker.Options{Failures: t.breakerFailures,
			Cooldown: t.breakerCooldown, MaxCooldown: t.breakerMaxCooldown},
	}
	if t.many && o.Lanes == 0 {
		o.Lanes = lanesFor(openFiles())
		o.Budget.Retries = cmp.Or(o.Budget.Retries, autoRetries) // no more than with fewer lanes
	}
	return o
}

// lanesFor is how many lanes many files may have where so many can be open: each takes a
// connection and a file, and may have another file waiting for it.
func lanesFor(files int) int {
	return max(multipart.DefaultLanes, min(manyLanes, (files-otherFiles)/3))
}

// uploader is what each file's upload goes by. The command has nothing else to
// do than to wait, even for a store that is down.
func (t *tuningFlags) uploader() multipart.Options {
	return multipart.Options{
		PartSize: t.partSize, Threshold: noneIfZero(t.threshold),
		Backoff: t.backoff, MaxAttempts: t.maxAttempts,
		MaxElapsed: noneIfZero(t.maxElapsed), RetryAfterCap: t.retryAfterCap,
		WaitOpen: true, Memory: t.memory,
	}
}

// pieces is about how many parts a job has, for a store that says nothing else.
func (t *tuningFlags) pieces(j job) int {
	switch {
	case j.stream:
		return mostFiles // it is the only one
	case j.size < t.threshold:
		return 1
	}
	return 1 + int(j.size/cmp.Or(t.partSize, chunker.DefaultPart))
}

// noneIfZero is how the library's options, whose zero is the default, are told
// that zero is meant.
func noneIfZero[T int64 | float64 | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

func parsePartSize(text string) (int64, error) {
	if text == "auto" {
		return 0, nil
	}
	n, err := parseSize(text)
	if err == nil && n == 0 {
		n = -1 // the planner takes 0 for auto
	}
	if err == nil {
		_, err = chunker.NewPlan(0, n, chunker.Limits{})
	}
	return n, err
}

func parseBandwidth(text string) (int64, error) {
	if text == "none" {
		return 0, nil
	}
	return parseRate(text)
}

// parseMemory refuses what cannot hold two parts: one that is sent, and one that
// is read meanwhile.
func parseMemory(text string) (int64, error) {
	n, err := parseSize(text)
	if err == nil && n < 2*chunker.MinPart {
		return 0, fmt.Errorf("%s cannot hold two parts of the smallest size that stores take: give at least %s", text, formatSize(2*chunker.MinPart))
	}
	return n, err
}

func parseThreshold(text string) (int64, error) {
	n, err := parseSize(text)
	if err == nil && n > chunker.MaxPart {
		return 0, fmt.Errorf("%s is more than stores take in one PUT, which is %s", text, formatSize(chunker.MaxPart))
	}
	return n, err
}

func parseJitter(text string) (multipart.Jitter, error) {
	switch text {
	case "none":
		return multipart.NoJitter, nil
	case "full":
		return multipart.FullJitter, nil
	case "equal":
		return multipart.EqualJitter, nil
	}
	return 0, fmt.Errorf("use one of none, full, equal")
}

func parseBudget(text string) (float64, error) {
	if text == "auto" {
		return 0, nil
	}
	n, err := zeroOrMore(text)
	if err == nil && n == 0 {
		return 0, fmt.Errorf("it must be above zero: use --max-attempts 1 for no retries")
	}
	return n, err
}
