// Command mutants shows that the tests guard the rules that the project is made
// of. Each file in integration/mutants/patches switches one rule off and names the
// test that must fail then:
//
//	go run ./integration/mutants            all of them
//	go run ./integration/mutants -run ^budget-
//
// Run it from the top of the repository; nothing in it is changed. It prints a
// line for each rule and exits with 1 unless every mutant is caught. What a patch
// looks like is said at [parse], what counts as caught at [report.verdict].
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const patches = "integration/mutants/patches"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ExitOnError)
	only := flags.String("run", "", "try only the patches whose name this regular expression matches")
	flags.Parse(args) // exits if it fails
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	mutants, err := load(filepath.Join(root, patches), wanted)
	if err != nil {
		return err
	}
	return runner{root: root, timeout: 2 * time.Minute, out: out}.all(ctx, mutants)
}

// load reads the patches of a folder whose names match.
func load(dir string, wanted *regexp.Regexp) ([]*mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !wanted.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.name, m.file = name, file
		mutants = append(mutants, m)
	}
	if len(mutants) == 0 {
		return nil, fmt.Errorf("no patch in %s to try: run it from the top of the repository", dir)
	}
	return mutants, nil
}

// A runner tries mutants of the module in root.
type runner struct {
	root    string        // absolute
	timeout time.Duration // after which the test of a mutant hangs
	out     io.Writer
}

// all tries the mutants one after the other and prints the table.
func (r runner) all(ctx context.Context, mutants []*mutant) error {
	start := time.Now()
	healthy, err := r.healthy(ctx, mutants)
	if err != nil {
		return err
	}
	rule, guard := len("rule"), len("guarded by")
	for _, m := range mutants {
		rule = max(rule, utf8.RuneCountInString(m.rule))
		guard = max(guard, utf8.RuneCountInString(m.guard()))
	}
	fmt.Fprintf(r.out, "%-*s | %-*s | result\n", rule, "rule", guard, "guarded by")
	count := map[result]int{}
	for _, m := range mutants {
		began := time.Now()
		v := r.try(ctx, m, healthy[m.pkg])
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		count[v.result]++
		fmt.Fprintf(r.out, "%-*s | %-*s | %s, %.1f s\n",
			rule, m.rule, guard, m.guard(), v.result, time.Since(began).Seconds())
		if v.result != caught {
			fmt.Fprintf(r.out, "    %s.patch: %s\n", m.name, strings.ReplaceAll(v.why, "\n", "\n    "))
		}
	}
	fmt.Fprintf(r.out, "%d of %d mutants caught in %.0f s\n", count[caught], len(mutants), time.Since(start).Seconds())
	if bad := count[survived] + count[broken]; bad > 0 {
		return fmt.Errorf("%d %s, %d %s", count[survived], survived, count[broken], broken)
	}
	return nil
}

// healthy runs the tests of the mutants on the code as it is: a test that fails
// without a mutant catches none.
func (r runner) healthy(ctx context.Context, mutants []*mutant) (map[string]report, error) {
	tests := map[string][]string{}
	for _, m := range mutants {
		tests[m.pkg] = append(tests[m.pkg], m.test)
	}
	healthy := map[string]report{}
	for pkg, all := range tests {
		report, err := r.test(ctx, pkg, strings.Join(all, "|"), 10*r.timeout, "")
		if err != nil {
			return nil, err
		}
		healthy[pkg] = report
	}
	return healthy, nil
}

// try applies one mutant and runs its test.
func (r runner) try(ctx context.Context, m *mutant, healthy report) verdict {
	if why := healthy.lacks(m.test); why != "" {
		return verdict{broken, why}
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return verdict{broken, err.Error()}
	}
	defer os.RemoveAll(dir)
	overlay, err := m.apply(ctx, r.root, dir)
	if err != nil {
		return verdict{broken, err.Error()}
	}
	report, err := r.test(ctx, m.pkg, m.test, r.timeout, overlay)
	if err != nil {
		return verdict{broken, err.Error()}
	}
	return report.verdict()
}
