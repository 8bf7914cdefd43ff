package child

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary is the program that is run: what it does is in a variable.
func TestMain(m *testing.M) {
	switch os.Getenv("CHILD") {
	case "memory":
		b := bytes.Repeat([]byte{1}, 20<<20)
		time.Sleep(50 * time.Millisecond) // to be looked at
		os.Exit(int(b[len(b)-1]) - 1)
	case "busy":
		for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; {
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "grandchild": // which holds the output, and is in the same group
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CHILD=sleep")
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			os.Exit(2)
		}
		os.Stdout.WriteString(strconv.Itoa(cmd.Process.Pid))
		time.Sleep(time.Hour)
	case "fail":
		os.Stdout.WriteString("what it is about\n")
		os.Stderr.WriteString("and why\n")
		os.Exit(3)
	default:
		os.Exit(m.Run())
	}
}

func self(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHILD="+what)
	return cmd
}

func linuxOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
}

// A child's memory is its own: not what this process has, and what it had at most.
func TestPeak(t *testing.T) {
	linuxOnly(t)
	mine := bytes.Repeat([]byte{1}, 300<<20)
	u := Run(t.Context(), self("memory"), time.Minute)
	if u.Err != nil || u.Peak < 20<<20 || u.Peak > 250<<20 {
		t.Errorf("%d bytes, %v", u.Peak, u.Err)
	}
	runtime.KeepAlive(mine)
}

func TestCPU(t *testing.T) {
	linuxOnly(t)
	if u := Run(t.Context(), self("busy"), time.Minute); u.Err != nil || u.CPU == 0 || u.Wall < 100*time.Millisecond {
		t.Errorf("%+v", u)
	}
	for begin := time.Now(); CPUOf(os.Getpid()) == 0; {
		if time.Since(begin) > time.Minute {
			t.Fatal("this process has taken nothing")
		}
	}
}

// Whoever takes too long is killed, and whoever it has started.
func TestLimit(t *testing.T) {
	linuxOnly(t)
	u := Run(t.Context(), self("grandchild"), 500*time.Millisecond)
	if !u.Capped || u.Err == nil {
		t.Fatalf("%+v", u)
	}
	pid, err := strconv.Atoi(u.Output)
	if err != nil {
		t.Fatal(err)
	}
	for {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(err, os.ErrNotExist) || strings.Contains(string(stat), ") Z ") {
			return // gone, or waiting for somebody to notice
		}
		time.Sleep(time.Millisecond)
	}
}

func TestFailure(t *testing.T) {
	u := Run(t.Context(), self("fail"), time.Minute)
	if exit, ok := errors.AsType[*exec.ExitError](u.Err); !ok || exit.ExitCode() != 3 || u.Capped {
		t.Errorf("%v", u.Err)
	}
	if u.Output != "what it is about\nand why\n" {
		t.Errorf("it said %q", u.Output)
	}
	if u := Run(t.Context(), exec.Command(os.Args[0]+"-is-not-there"), time.Minute); u.Err == nil {
		t.Error("what is not there runs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if u := Run(ctx, self("sleep"), time.Minute); !errors.Is(u.Err, context.Canceled) {
		t.Errorf("interrupted: %v", u.Err)
	}
}

func TestVmHWM(t *testing.T) {
	for text, want := range map[string]int64{
		"Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t   31284 kB\nVmRSS:\t 1 kB\n": 31284 << 10,
		"Name:\tVmHWM: 5 kB\nState:\tZ (zombie)\n":                       0,
		"VmHWM:\t 12 MB\n": 0,
		"":                 0,
	} {
		if got := vmHWM([]byte(text)); got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}

func TestCPUOf(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1 (a) b) c) S 0 1 1 0 -1 4194560 1 2 3 4 150 25 7 8 20 0 1 0 5 6 7": 1750 * time.Millisecond,
		"1 (x) S 0 1": 0,
		"":            0,
	} {
		if got := cpuOf([]byte(text)); got != want {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}

func TestTail(t *testing.T) {
	var long tail
	for range 100 {
		if n, err := long.Write(make([]byte, 1000)); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	long.Write([]byte("the end"))
	if got := long.String(); len(got) > 2*tailSize+7 || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes", len(got))
	}
}
