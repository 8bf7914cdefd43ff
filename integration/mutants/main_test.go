package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A module with one rule, and tests that guard it in one way each.
var tiny = map[string]string{
	"go.mod": "module tiny\n\ngo 1.26.0\n",
	"rule/rule.go": `package rule

// Double returns twice n.
func Double(n int) int {
	twice := 2 * n
	return twice
}

// Half returns half of n.
func Half(n int) int {
	return n / 2
}
`,
	"rule/rule_test.go": `package rule

import (
	"os"
	"testing"
)

func TestDouble(t *testing.T) {
	if Double(2) != 4 {
		t.Error("wrong")
	}
}

func TestZero(t *testing.T) {
	if Double(0) != 0 {
		t.Error("wrong")
	}
}

func TestHang(t *testing.T) {
	if Double(2) != 4 {
		select {}
	}
}

func TestGoroutine(t *testing.T) {
	done := make(chan int)
	go func() {
		if Double(2) != 4 {
			panic("wrong")
		}
		close(done)
	}()
	<-done
}

func TestExit(t *testing.T) {
	if Double(2) != 4 {
		os.Stdout.Close()
		os.Exit(3)
	}
}

func TestWrong(t *testing.T) { t.Error("wrong") }

func TestSkip(t *testing.T) {
	if Double(2) != 4 {
		t.Skip("not today")
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if Half(2) != 1 {
		code = 1
	}
	os.Exit(code)
}
`,
}

// change returns the patch that puts another line in place of that in Double.
func change(line string) string {
	return `
--- a/rule/rule.go
+++ b/rule/rule.go
@@ -2,6 +2,6 @@
 
 // Double returns twice n.
 func Double(n int) int {
-	twice := 2 * n
+	` + line + `
 	return twice
 }
 
`
}

const half = `
--- a/rule/rule.go
+++ b/rule/rule.go
@@ -8,5 +8,5 @@
 
 // Half returns half of n.
 func Half(n int) int {
-	return n / 2
+	return n
 }
`

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVerdicts(t *testing.T) {
	wrong := change("twice := 3 * n")
	cases := map[string]struct {
		test, diff string
		result     result
		why        string
	}{
		"caught":       {"TestDouble", wrong, caught, ""},
		"one-of-two":   {"TestZero|TestDouble", wrong, caught, ""},
		"hangs":        {"TestHang", wrong, caught, ""},
		"goroutine":    {"TestGoroutine", wrong, caught, ""},
		"survived":     {"TestZero", wrong, survived, "its test passes without the rule"},
		"no-such-test": {"TestDoubl", wrong, broken, "no such test"},
		"wrong-before": {"TestWrong", wrong, broken, "TestWrong does not pass without the mutant either (fail)"},
		"exits":        {"TestExit", wrong, broken, "fails, but not in a test"},
		"skips":        {"TestSkip", wrong, broken, "no test ran"},
		"around":       {"TestDouble", half, broken, "fails, but not in a test"},
		"no-build":     {"TestDouble", change("once := n"), broken, "does not build:\n# tiny/rule"},
		"stale":        {"TestDouble", strings.ReplaceAll(wrong, "2 * n", "n + n"), broken, "does not apply: git apply: error: patch failed"},
		"no-file":      {"TestDouble", strings.ReplaceAll(wrong, "rule.go", "gone.go"), broken, "does not apply: open "},
		"outside":      {"TestDouble", strings.ReplaceAll(wrong, "/rule/rule.go", "/../rule.go"), broken, ""},
		"no-patch":     {"TestDouble", "\n--- nothing\n", broken, "is no patch: git apply: error:"},
	}
	root := t.TempDir()
	for name, text := range tiny {
		write(t, root, name, text)
	}
	for name, c := range cases {
		write(t, root, patches+"/"+name+".patch", "Rule: of "+name+"\nTest: ./rule "+c.test+"\n"+c.diff)
	}
	mutants, err := load(filepath.Join(root, patches), regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) != len(cases) {
		t.Fatalf("%d mutants of %d patches", len(mutants), len(cases))
	}
	r := runner{root: root, timeout: 2 * time.Second}
	healthy, err := r.healthy(t.Context(), mutants)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		c := cases[m.name]
		if v := r.try(t.Context(), m, healthy[m.pkg]); v.result != c.result || !strings.HasPrefix(v.why, c.why) {
			t.Errorf("%s: %s, %q; want %s, %q", m.name, v.result, v.why, c.result, c.why)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "rule/rule.go")); err != nil || string(text) != tiny["rule/rule.go"] {
		t.Errorf("the module was changed: %v, %s", err, text)
	}
}

// The table has a line for each rule, and what is wrong below it; anything not
// caught makes the command fail.
func TestTable(t *testing.T) {
	root := t.TempDir()
	for name, text := range tiny {
		write(t, root, name, text)
	}
	head := "Rule: twice is two times\nTest: ./rule "
	write(t, root, patches+"/a-caught.patch", head+"TestDouble\n"+change("twice := 3 * n"))
	write(t, root, patches+"/b-survived.patch", head+"TestZero\n"+change("twice := 3 * n"))
	write(t, root, patches+"/c-broken.patch", head+"TestNone\n"+change("twice := 3 * n"))
	t.Chdir(root)

	var out strings.Builder
	err := run(t.Context(), nil, &out)
	if err == nil || err.Error() != "1 SURVIVED, 1 BROKEN" {
		t.Errorf("error %v, want 1 SURVIVED, 1 BROKEN", err)
	}
	seconds := regexp.MustCompile(`[0-9.]+ s\n`)
	want := `rule               | guarded by        | result
twice is two times | ./rule TestDouble | caught, T
twice is two times | ./rule TestZero   | SURVIVED, T
    b-survived.patch: its test passes without the rule
twice is two times | ./rule TestNone   | BROKEN, T
    c-broken.patch: no such test
1 of 3 mutants caught in T
`
	if got := seconds.ReplaceAllString(out.String(), "T\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	out.Reset()
	if err := run(t.Context(), []string{"-run", "^a-"}, &out); err != nil || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("-run ^a-: %v\n%s", err, out.String())
	}
	if err := run(t.Context(), []string{"-run", "nothing"}, &out); err == nil || !strings.Contains(err.Error(), "no patch in") {
		t.Errorf("-run nothing: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ended, nil, &out); err == nil {
		t.Error("no error of an interrupted run")
	}
}

func TestParse(t *testing.T) {
	good := "Rule: a rule: in words\nTest: ./a/b TestX|TestY\n\ndiff --git a/x b/x\nnot read: Rule: z\n"
	m, err := parse(good)
	if err != nil || *m != (mutant{rule: "a rule: in words", pkg: "./a/b", test: "TestX|TestY"}) {
		t.Errorf("parse: %+v, %v", m, err)
	}
	for name, text := range map[string]string{
		"no rule":       "Test: ./a TestX\n--- a/x\n",
		"no test":       "Rule: r\n--- a/x\n",
		"no package":    "Rule: r\nTest: TestX\n--- a/x\n",
		"no name":       "Rule: r\nTest: ./a\n--- a/x\n",
		"not a regexp":  "Rule: r\nTest: ./a Test(\n--- a/x\n",
		"something":     "Rule: r\nTest: ./a TestX\nrule: s\n--- a/x\n",
		"after the end": "--- a/x\nRule: r\nTest: ./a TestX\n",
	} {
		if m, err := parse(text); err == nil {
			t.Errorf("%s: no error, %+v", name, m)
		}
	}
}

// Every patch can be read and applied, so that a change which outdates one shows at
// once and not in the long run.
func TestPatchesApply(t *testing.T) {
	mutants, err := load("patches", regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if m.file, err = filepath.Abs(m.file); err != nil {
			t.Fatal(err)
		}
		if _, err := m.apply(t.Context(), root, t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
