package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// splitCommand takes the command from behind the "--" of cp - DEST -- COMMAND.
// A "--" anywhere else only ends the flags.
func splitCommand(args []string, dash int) (rest, command []string, err error) {
	if dash < 2 || !schemePattern.MatchString(args[dash-1]) {
		return args, nil, nil
	}
	rest, command = args[:dash], args[dash:]
	switch {
	case dash != 2 || args[0] != "-":
		return nil, nil, usagef("a command after -- needs - as the only SOURCE")
	case len(command) == 0:
		return nil, nil, usagef("there is no command after --")
	}
	// What cannot be found is refused before anything is sent.
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, nil, usagef("command: %w", err)
	}
	return rest, command, nil
}

// newStream is the job of standard input.
func (f *cpFlags) newStream(dest destination) (job, error) {
	switch {
	case dest.isPrefix():
		return job{}, usagef("standard input has no name: give a destination with a key, such as %s", dest.address(dest.key+"NAME"))
	case needs(dest.key, holdSHA256):
		return job{}, usagef("%s of standard input is not known before it has been read", holdSHA256)
	case needs(dest.key, holdName) || needs(dest.key, holdExt):
		return job{}, usagef("standard input has no name for %s or %s", holdName, holdExt)
	}
	return f.aim(job{source: "-", size: f.tuning.expected, stream: true}, dest, "")
}

// label is how people read a job's source.
func (j job) label() string {
	switch {
	case j.command != nil:
		return "the output of " + show(filepath.Base(j.command[0]))
	case j.stream:
		return "standard input"
	}
	return show(j.source)
}

// unknown tells that nobody can say how much there is.
func (j job) unknown() bool { return j.stream && j.size == 0 }

// total is how much a job has to send, or unknownTotal.
func (j job) total() int64 {
	if j.unknown() {
		return unknownTotal
	}
	return j.size
}

// send uploads a job.
func (s *session) send(ctx context.Context, u *multipart.Uploader, o multipart.Object, j job) (multipart.Result, error) {
	switch {
	case j.command != nil:
		return s.sendOutput(ctx, u, o, j)
	case j.stream:
		return u.UploadStream(ctx, o, s.env.stdin, j.size)
	case j.hashed == chunker.Identity{}:
		return u.UploadFile(ctx, o, j.source)
	}
	file, err := openPinned(j.source, j.hashed)
	if err != nil {
		return multipart.Result{}, err
	}
	defer file.Close()
	return u.Upload(ctx, o, file)
}

// sendOutput uploads what a command writes, if it ends well.
func (s *session) sendOutput(ctx context.Context, u *multipart.Uploader, o multipart.Object, j job) (multipart.Result, error) {
	p, err := startProducer(ctx, s.env, j.command)
	if err != nil {
		return multipart.Result{}, fmt.Errorf("command: %w", err)
	}
	defer p.stop()
	return u.UploadStream(ctx, o, p, j.size)
}
