// Command chunkup uploads large files to S3 and to the stores that speak it.
//
// See chunkup --help, and docs/cli.md for the contract of its flags, exit codes
// and JSON lines.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"
)

// lastWords is how long a second interrupt may take to say what is left: a
// terminal that takes nothing must not hold it up.
const lastWords = 200 * time.Millisecond

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	var begun inFlight
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// Whoever read our output has gone: the uploads go on, and it is said at the end.
	// To ignore the signal would make the commands that we start ignore it, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		<-signals
		if isTerminal(os.Stderr) {
			// It has written ^C where the cursor was; the bar takes away what
			// stands from the first column on.
			fmt.Fprint(os.Stderr, "\r")
		}
		cancel(errInterrupted)
		<-signals
		quit(&begun) // whoever asks twice will not wait for the clean-up
	}()
	os.Exit(run(ctx, env{
		args:     os.Args[1:],
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
		terminal: isTerminal,
		begun:    &begun,
		collect:  collectAt,
	}))
}

// collectAt lets the heap grow by so many percent before garbage is collected, unless
// the user has said by how many.
func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// quit ends the process at once.
func quit(begun *inFlight) {
	told := make(chan struct{})
	go func() {
		defer close(told)
		if isTerminal(os.Stderr) {
			fmt.Fprintln(os.Stderr) // below the bar
		}
		begun.abandon(os.Stderr)
	}()
	select {
	case <-told:
	case <-time.After(lastWords):
	}
	os.Exit(exitInterrupted)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
