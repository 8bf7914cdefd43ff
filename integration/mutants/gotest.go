package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A report is what a run of go test came to.
type report struct {
	outcome map[string]string // of each test that started: pass, fail, skip, or "" if it did not end
	failed  bool              // the run as a whole
	built   bool
	output  string
}

// test runs the tests of a package whose whole names match.
func (r runner) test(ctx context.Context, pkg, names string, timeout time.Duration, overlay string) (report, error) {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=" + timeout.String(), "-run=^(" + names + ")$"}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = r.root
	cmd.WaitDelay = 10 * time.Second // for a test that leaves a process behind with our pipe
	// One counterexample is as good as another, and is not to be kept.
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=0s")
	if overlay != "" { // also for what the tests build themselves
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return report{}, err
	}
	rep, readErr := read(out)
	if readErr != nil || err != nil && !rep.failed {
		return report{}, fmt.Errorf("go test %s: %v: %s%s", pkg, errors.Join(err, readErr), stderr.String(), rep.output)
	}
	return rep, nil
}

// read reads what go test -json writes.
func read(out []byte) (report, error) {
	rep := report{outcome: map[string]string{}, built: true}
	var text strings.Builder
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(line, &event); err != nil {
			return rep, fmt.Errorf("go test wrote %q", line)
		}
		text.WriteString(event.Output)
		switch event.Action {
		case "build-fail":
			rep.built = false
		case "run":
			rep.outcome[event.Test] = ""
		case "pass", "fail", "skip":
			if event.Test != "" {
				rep.outcome[event.Test] = event.Action
			} else if event.Action == "fail" {
				rep.failed = true
			}
		}
	}
	rep.output = text.String()
	return rep, nil
}

// lacks says why tests with these names cannot guard anything, if they did not pass
// in this run.
func (rep report) lacks(names string) string {
	if !rep.built {
		return "does not build without the mutant either:\n" + rep.excerpt()
	}
	whole := regexp.MustCompile("^(" + names + ")$")
	found := false
	for test, outcome := range rep.outcome {
		if !whole.MatchString(test) {
			continue
		}
		found = true
		if outcome != "pass" {
			return fmt.Sprintf("%s does not pass without the mutant either (%s)", test, outcome)
		}
	}
	if !found {
		return "no such test"
	}
	return ""
}

// A verdict is what became of a mutant, and why if it was not caught.
type verdict struct {
	result result
	why    string
}

type result string

const (
	caught   result = "caught"
	survived result = "SURVIVED"
	broken   result = "BROKEN" // says nothing of the test
)

// verdict judges the run of a mutant. Caught is what made a test fail, or ended the
// process with a panic while a test was running: also that of a test which ran into
// the timeout, for it is how a hang shows. What fails without a failing test, a build
// or what surrounds the tests, is not caught.
func (rep report) verdict() verdict {
	outcomes := map[string]int{}
	for _, outcome := range rep.outcome {
		outcomes[outcome]++
	}
	panicked := strings.Contains(rep.output, "panic: ") || strings.Contains(rep.output, "fatal error: ")
	switch {
	case !rep.built:
		return verdict{broken, "does not build:\n" + rep.excerpt()}
	case outcomes["fail"] > 0, outcomes[""] > 0 && panicked:
		return verdict{caught, ""}
	case rep.failed:
		return verdict{broken, "fails, but not in a test:\n" + rep.excerpt()}
	case outcomes["pass"] == 0:
		return verdict{broken, "no test ran"}
	}
	return verdict{survived, "its test passes without the rule"}
}

// excerpt returns the beginning of the output.
func (rep report) excerpt() string {
	lines := slices.Collect(strings.Lines(rep.output))
	return strings.TrimSpace(strings.Join(lines[:min(len(lines), 15)], ""))
}
