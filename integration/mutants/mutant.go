package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one patch.
type mutant struct {
	name, file string
	rule       string // in plain words
	pkg, test  string // what guards it: a package, and a regular expression of whole names of tests
}

func (m *mutant) guard() string { return m.pkg + " " + m.test }

// parse reads the head of a patch, which stands before what git apply takes:
//
//	Rule: first attempts are held while the endpoint is in doubt
//	Test: ./budget TestDoubtHoldsFirstAttempts
//
// The rule is what the patch switches off, as it holds without the patch. The test
// is a package and, as for go test -run, a regular expression, but of whole names.
// At least one of the tests that it matches must fail under the mutant.
func parse(text string) (*mutant, error) {
	m := &mutant{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "--- ") {
			break
		}
		if rule, ok := strings.CutPrefix(line, "Rule:"); ok {
			m.rule = strings.TrimSpace(rule)
		} else if test, ok := strings.CutPrefix(line, "Test:"); ok {
			m.pkg, m.test, _ = strings.Cut(strings.TrimSpace(test), " ")
		} else if strings.TrimSpace(line) != "" {
			return nil, fmt.Errorf("the head has a line that is neither Rule: nor Test: %q", line)
		}
	}
	if m.rule == "" || !strings.HasPrefix(m.pkg, "./") || m.test == "" {
		return nil, errors.New(`the head needs a line "Rule: …" and a line "Test: ./package TestName"`)
	}
	if _, err := regexp.Compile(m.test); err != nil {
		return nil, err
	}
	return m, nil
}

// apply makes changed copies of the files that the patch touches in dir, and returns
// the file that has go build read these instead.
func (m *mutant) apply(ctx context.Context, root, dir string) (overlay string, err error) {
	paths, err := m.touches(ctx, dir)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, path := range paths {
		from, to := filepath.Join(root, path), filepath.Join(dir, path)
		replace[from] = to
		text, err := os.ReadFile(from)
		if err != nil {
			return "", fmt.Errorf("does not apply: %w", err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
	}
	if _, err := git(ctx, dir, "apply", m.file); err != nil {
		return "", fmt.Errorf("does not apply: %w", err)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// touches returns the files that the patch changes, below the top of the module.
func (m *mutant) touches(ctx context.Context, dir string) ([]string, error) {
	out, err := git(ctx, dir, "apply", "--numstat", "-z", m.file)
	if err != nil {
		return nil, fmt.Errorf("is no patch: %w", err)
	}
	var paths []string
	for _, record := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		fields := strings.SplitN(record, "\t", 3) // lines added, removed, path
		if len(fields) != 3 || !filepath.IsLocal(fields[2]) {
			return nil, fmt.Errorf("changes something else than files of the module: %q", record)
		}
		paths = append(paths, fields[2])
	}
	return paths, nil
}

// git runs git in dir as if there were no repository around it, for then it would
// take dir for a part of that.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GIT_") })
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	cmd.Env = append(cmd.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(real))
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
