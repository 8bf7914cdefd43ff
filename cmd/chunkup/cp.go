package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/chunkup/chunkup/cmd/chunkup/walk"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/journal"
)

// abortLimit is how long what was sent of an upload that failed, or was interrupted,
// is tried to be dropped: somebody is waiting.
const abortLimit = 10 * time.Second

func newCp(e env) *cobra.Command {
	var f cpFlags
	cmd := &cobra.Command{
		Use:     "cp SOURCE... DEST [-- COMMAND ARGS]",
		Short:   "Upload files, folders, or standard input",
		Long:    cpHelp,
		Example: cpExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			s, err := f.prepare(cmd.Context(), e, args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			defer s.shut()
			return f.copy(cmd.Context(), e, s)
		},
	}
	groups := f.define(cmd)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups, exitHelp) })
	return cmd
}

// copy uploads the sources, or says what it would upload.
func (f *cpFlags) copy(ctx context.Context, e env, src *sources) error {
	s := &session{flags: f, env: e, sources: src, printer: newPrinter(e, f.output, src), began: time.Now()}
	e.collect(src.garbage())
	if f.tuning.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.tuning.timeout, timeoutError(f.tuning.timeout))
		defer cancel()
	}
	if f.output.dryRun {
		s.rehearse(ctx)
		return s.end(nil)
	}
	var c *connection
	var err error
	var warning error
	s.journals, warning, err = f.state.keep(e.getenv, src.mayNeedParts())
	if err == nil {
		c, err = connect(ctx, &f.store, &f.tuning, src.dest, s.printer.breaker)
	}
	if err == nil {
		s.connection = c
		if err = f.fitStore(src.named, c); err == nil {
			s.warn(warning)
			s.uploadAll(ctx)
		}
		err = errors.Join(err, c.end())
	}
	return s.end(err)
}

// mayNeedParts tells that a source goes up in parts, or that nobody knows yet.
func (s *sources) mayNeedParts() bool {
	return s.finds() || slices.ContainsFunc(s.named, func(j job) bool { return !j.whole })
}

// rehearse says what would be uploaded, and sends nothing.
func (s *session) rehearse(ctx context.Context) {
	store := s.flags.knownTraits()
	for j, err := range s.sources.all(ctx) {
		if err == nil && !j.isAimed() {
			j, err = s.flags.finish(ctx, j, s.sources, func(j *job) error {
				if _, _, err := s.sources.look(j.source); err != nil { // an upload would open it
					return err
				}
				return s.flags.fitOne(j, store)
			})
		}
		if err != nil {
			s.refuse(j, err)
			continue
		}
		s.totals.files++
		s.printer.planned(j)
	}
}

// session is one run of cp, from the connection to the exit code.
type session struct {
	flags      *cpFlags
	env        env
	sources    *sources
	printer    printer
	journals   *journal.Dir // nil: none are kept
	connection *connection
	began      time.Time

	spell sync.Once
	words []string // of every resumeCommand: a stream is the only job

	mu     sync.Mutex
	totals totals
}

// warn says what is true of all that is named.
func (s *session) warn(warning error) {
	if warning == nil {
		return
	}
	for _, j := range s.sources.named {
		s.printer.event(j, multipart.Event{Kind: multipart.Warned, Time: time.Now(), Err: warning})
	}
	if s.sources.finds() {
		s.printer.warned(warning)
	}
}

// uploadAll uploads the jobs, some at a time. A failure of one does not end the
// others. Of an interrupt it is said at once that it was heard.
func (s *session) uploadAll(ctx context.Context) {
	said := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(said)
		if context.Cause(ctx) == error(errInterrupted) {
			s.printer.stopping()
		}
	})
	defer func() {
		if !forget() {
			<-said
		}
	}()
	t := newTurns(s.flags.tuning.workers, s.connection.endpoint.Lanes)
	all := newCrew(t, func(j job) { s.process(ctx, j, said) }, s.flags.tuning.pieces)
	hashes := needs(s.sources.dest.key, holdSHA256) // which takes time, and is done by many at once
	for j, err := range s.sources.all(ctx) {
		if err == nil && !hashes {
			j, err = s.finish(ctx, j) // in order, so that of two files with one key the first goes up
		}
		if err != nil {
			s.afterwards(ctx, said, func() { s.refuse(j, err) })
			continue
		}
		all.give(j)
	}
	all.wait()
}

// process brings a job to its end.
func (s *session) process(ctx context.Context, j job, said <-chan struct{}) {
	j, err := s.finish(ctx, j)
	if err != nil {
		s.afterwards(ctx, said, func() { s.refuse(j, err) })
		return
	}
	out := s.upload(ctx, j)
	s.afterwards(ctx, said, func() { s.count(out) })
}

// afterwards tells what came of a job; of an interrupt it was said before that all ends.
func (s *session) afterwards(ctx context.Context, said <-chan struct{}, tell func()) {
	if ctx.Err() != nil {
		<-said
	}
	tell()
}

// finish gives a job that was found its destination, and plans it for the store.
func (s *session) finish(ctx context.Context, j job) (job, error) {
	if j.isAimed() {
		return j, nil
	}
	return s.flags.finish(ctx, j, s.sources, func(j *job) error { return s.flags.fitJob(j, s.connection) })
}

// refuse tells of a source that is not even begun. What nobody has asked for is no
// failure.
func (s *session) refuse(j job, err error) {
	_, special := errors.AsType[*walk.SkipError](err)
	_, already := errors.AsType[*alreadyError](err)
	if already {
		s.sources.tally.remove(j.size)
	}
	if special || already {
		s.printer.warned(err)
		return
	}
	s.count(outcome{job: j, err: err, unbegun: true})
}

func (s *session) upload(ctx context.Context, j job) outcome {
	out := outcome{job: j}
	object := j.object
	object.Command = s.resumeCommand(j)
	o := s.options()
	o.OnEvent = func(e multipart.Event) {
		if e.UploadID != "" {
			s.env.begun.began(openUpload{j.dest, e.UploadID, s.hints(j, j.addressOf(e.Object), object.Command, e.UploadID)})
		}
		s.printer.event(j, e)
	}
	u, err := multipart.New(s.connection.control, s.connection.provider, &o)
	if err != nil {
		out.err = err
		return out
	}
	out.result, out.err = s.send(ctx, u, object, j)
	if out.err == nil && s.connection.verify {
		out.err = verify(ctx, s.connection.control, out.result, j.dest)
		out.verified = out.err == nil
	}
	out.err = named(out.err, destination{scheme: j.scheme})
	if e, ok := errors.AsType[*multipart.Error](out.err); ok && (e.Journal != "" || e.Abort != nil) {
		out.hints = s.hints(j, out.object(), object.Command, e.UploadID)
		if e.Journal == "" {
			out.hints.resume = nil
		}
	}
	s.env.begun.ended(j.dest)
	return out
}

// options are those of all uploads.
func (s *session) options() multipart.Options {
	o := s.flags.tuning.uploader()
	o.Endpoint, o.Journal, o.AbortTimeout = s.connection.endpoint, s.journals, abortLimit
	return o
}

// hints are how to go on with a job, and how to clean up after it at the address that
// the store knows.
func (s *session) hints(j job, address string, resume []string, id string) hints {
	var h hints
	if !j.stream && s.journals != nil {
		h.resume = resume
	}
	if id != "" {
		h.abort = abortCommand(address, id, storeWords(resume))
	}
	return h
}

// count tells how a job ended and adds it to the totals.
func (s *session) count(o outcome) {
	if o.code = exitCode(o.err); o.code == exitUsage {
		o.code = exitFailed // it was right when the command began
	}
	s.mu.Lock()
	s.totals.add(o)
	s.mu.Unlock()
	s.printer.result(o)
}

// end closes the output and returns what run makes the exit code from. err is a
// failure that is no job's.
func (s *session) end(err error) error {
	t := s.totals
	t.elapsed = time.Since(s.began)
	t.code = worst(t.code, exitCode(err))
	switch {
	case s.connection != nil:
		t.budgetLeft = s.connection.endpoint.Budget().Requests
	case err != nil: // none was begun
		t.files = len(s.sources.named) + len(s.sources.roots)
		t.failed = t.files
	}
	t.refused = exitCode(err) == exitUsage
	unwritten := s.printer.close(t)
	switch {
	case err != nil:
		return err
	case t.code != exitOK:
		return &toldError{t.code}
	}
	return unwritten
}
