package main

import (
	"bufio"
	"errors"
	"flag"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the golden files of the scripts anew")

// TestScripts runs the command as users do. Besides testscript's own commands
// the scripts have those of scriptCommands.
func TestScripts(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(refusing.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   scriptExits,
			"mint":    scriptMint,
			"mkfile":  scriptMakeFile,
			"sandbox": scriptSandbox,
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, awsEnvironment(e.WorkDir)...)
			e.Vars = append(e.Vars, "REFUSING="+refusing.URL) // answers 403 to everything
			return nil
		},
	})
}

// scriptExits runs a command that must end with an exit code: exits CODE COMMAND
// ARGS...
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// scriptMakeFile makes a file of bytes that do not repeat: mkfile NAME BYTES.
func scriptMakeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkfile NAME BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	content := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o644))
}

// scriptSandbox serves a sandbox in a process of its own until the script's end,
// and sets the variables that it prints, and its ADDRESS: sandbox ARGS...
func scriptSandbox(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: sandbox ARGS...")
	}
	cmd := exec.Command("chunkup", append([]string{"sandbox"}, args...)...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(os.Interrupt))
		kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		ts.Check(cmd.Wait()) // exit code 0
	})
	lines := bufio.NewScanner(out)
	for ts.Getenv("AWS_ENDPOINT_URL_S3") == "" { // the last of them
		if !lines.Scan() {
			ts.Fatalf("chunkup sandbox ended before it had printed its variables: %v", lines.Err())
		}
		name, text, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		if !ok {
			ts.Fatalf("chunkup sandbox printed %q", lines.Text())
		}
		ts.Setenv(name, strings.Trim(text, "'"))
	}
	ts.Setenv("ADDRESS", strings.TrimPrefix(ts.Getenv("AWS_ENDPOINT_URL_S3"), "http://"))
}

// scriptMint serves uploads in a process of its own until the script's end, with the
// script's environment, and sets MINT to its address; what it says on standard error
// is in the file mint.log: mint ARGS...
func scriptMint(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: mint ARGS...")
	}
	cmd := exec.Command("chunkup", append([]string{"mint", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), []string{"PATH=" + ts.Getenv("PATH")}
	for _, v := range awsEnvironment("") {
		name, _, _ := strings.Cut(v, "=")
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	log, err := os.Create(ts.MkAbs("mint.log"))
	ts.Check(err)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(os.Interrupt))
		kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		ts.Check(errors.Join(cmd.Wait(), log.Close())) // exit code 0
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	_, rest, _ := strings.Cut(line, " at ")
	address, _, ok := strings.Cut(rest, " until interrupted: chunkup cp FILE ")
	if !ok {
		ts.Fatalf("chunkup mint printed %q", line)
	}
	ts.Setenv("MINT", address)
}
