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
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		if isTerminal(os.Stderr) {
			// It has written ^C where the cursor was; the bar takes away what
			// stands from the first column on.
			fmt.Fprint(os.Stderr, "\r")
		}
		cancel(errInterrupted)
		<-signals
		os.Exit(exitInterrupted) // whoever asks twice will not wait for the clean-up
	}()
	os.Exit(run(ctx, env{
		args:     os.Args[1:],
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
		terminal: isTerminal,
	}))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
