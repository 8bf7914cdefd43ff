package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

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
		Short:   "Upload files",
		Long:    cpHelp,
		Example: cpExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("cp takes at least one SOURCE and a DEST")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			jobs, dest, err := f.prepare(cmd.Context(), args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			return f.copy(cmd.Context(), e, jobs, dest)
		},
	}
	groups := f.define(cmd)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups, exitHelp) })
	return cmd
}

// copy uploads the jobs, or says what it would upload.
func (f *cpFlags) copy(ctx context.Context, e env, jobs []job, dest destination) error {
	if f.output.dryRun {
		return f.rehearse(e, jobs)
	}
	if f.tuning.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.tuning.timeout, timeoutError(f.tuning.timeout))
		defer cancel()
	}
	p := newPrinter(e, f.output, jobs)
	s := &session{flags: f, env: e, printer: p, began: time.Now(), totals: totals{files: len(jobs)}}
	var c *connection
	var err error
	var warning error
	s.journals, warning, err = f.state.keep(e.getenv, jobs)
	if err == nil {
		c, err = connect(ctx, &f.store, &f.tuning, dest, p.breaker)
	}
	if err == nil {
		s.connection = c
		if err = f.fitStore(jobs, c); err == nil {
			s.warn(jobs, warning)
			s.uploadAll(ctx, jobs)
		}
		err = errors.Join(err, c.end())
	}
	return s.end(err)
}

// rehearse says what copy would upload, and sends nothing.
func (f *cpFlags) rehearse(e env, jobs []job) error {
	p := newPrinter(e, f.output, jobs)
	for _, j := range jobs {
		p.planned(j)
	}
	return p.close(totals{files: len(jobs)})
}

// session is one run of cp, from the connection to the exit code.
type session struct {
	flags      *cpFlags
	env        env
	printer    printer
	journals   *journal.Dir // nil: none are kept
	connection *connection
	began      time.Time

	mu     sync.Mutex
	totals totals
}

// warn says what is true of all jobs.
func (s *session) warn(jobs []job, warning error) {
	if warning == nil {
		return
	}
	for _, j := range jobs {
		s.printer.event(j, multipart.Event{Kind: multipart.Warned, Time: time.Now(), Err: warning})
	}
}

// uploadAll uploads the jobs, some at a time. A failure of one does not end the
// others. Of an interrupt it is said at once that it was heard.
func (s *session) uploadAll(ctx context.Context, jobs []job) {
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
	var g errgroup.Group
	g.SetLimit(s.flags.tuning.files())
	for _, j := range jobs {
		g.Go(func() error {
			out := s.upload(ctx, j)
			if ctx.Err() != nil {
				<-said // before what came of it
			}
			s.count(out)
			return nil
		})
	}
	_ = g.Wait() // the jobs' errors are counted
}

func (s *session) upload(ctx context.Context, j job) outcome {
	out := outcome{job: j}
	object := j.object
	object.Command = s.flags.resumeCommand(j, s.connection)
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
	if s.connection != nil {
		t.budgetLeft = s.connection.endpoint.Budget().Requests
	} else {
		t.failed = t.files // none was begun
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
