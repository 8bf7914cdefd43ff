package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chunkup/chunkup/multipart/journal"
)

// newState is the command about the journals of unfinished uploads.
func newState(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "state",
		Short:   "List, resume and remove what is kept of unfinished uploads",
		Long:    stateHelp,
		Example: stateExamples,
		Args:    refuseSubcommand,
	}
	cmd.AddCommand(newStateLs(e), newStateResume(e), newStateRm(e))
	return cmd
}

func newStateLs(e env) *cobra.Command {
	var s stateFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the unfinished uploads and how each is resumed",
		Long:  stateLsHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			dir, err := s.list(e.getenv)
			if err != nil {
				return err
			}
			return listState(e, dir, asJSON)
		},
	}
	s.defineDir(cmd.Flags())
	defineJSON(cmd.Flags(), &asJSON)
	return cmd
}

type stateLine struct {
	line
	Path      string   `json:"path"`
	Dest      string   `json:"dest"`
	Endpoint  string   `json:"endpoint"`
	Source    string   `json:"source"`
	State     string   `json:"state"`
	UploadID  string   `json:"upload_id"`
	DoneParts int      `json:"done_parts"`
	Parts     int      `json:"parts"`
	AgeMS     int64    `json:"age_ms"`
	Live      bool     `json:"live"`
	Resume    string   `json:"resume"`
	Abort     string   `json:"abort"`
	Command   []string `json:"command"`
	Error     string   `json:"error"`
}

// listState prints the journals, the oldest first.
func listState(e env, dir *journal.Dir, asJSON bool) error {
	entries, err := dir.List()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b journal.Entry) int { return a.Record.Started.Compare(b.Record.Started) })
	t := newTeller(e.stdout, asJSON)
	for _, x := range entries {
		if x.Err != nil {
			t.tell(stateLine{line: head("state", time.Now()), Path: x.Path, Live: x.Live, Error: x.Err.Error()}, "%s: %s", show(x.Path), sentence(x.Err))
			continue
		}
		t.tell(newStateLine(x), "%s", stateText(x))
	}
	return t.close()
}

func newStateLine(x journal.Entry) stateLine {
	r, h := x.Record, hintsOf(x)
	return stateLine{head("state", time.Now()), x.Path, addressOf(r), r.Endpoint, r.Source.Path, string(r.State), r.UploadID,
		len(r.Parts), r.Plan.Len(), time.Since(r.Started).Milliseconds(), x.Live, shellLine(h.resume), shellLine(h.abort), r.Command, ""}
}

// stateText is a journal for people: what goes where and how far it is, how to
// go on, and the file.
func stateText(x journal.Entry) string {
	r := x.Record
	parts := fmt.Sprintf("%d parts done", len(r.Parts))
	if r.Source.Path != "" {
		parts = fmt.Sprintf("%d of %d parts done", len(r.Parts), r.Plan.Len())
	}
	state := string(r.State)
	if x.Live {
		state += ", live"
	}
	text := fmt.Sprintf("%s → %s  %s  %s  %s ago", sourceOf(r), show(addressOf(r)), state, parts, age(r.Started))
	for _, l := range hintsOf(x).lines() {
		text += "\n  " + l
	}
	return text + "\n  kept:   " + show(x.Path)
}

func sourceOf(r journal.Record) string {
	if r.Source.Path == "" {
		return "a stream"
	}
	return show(r.Source.Path)
}

// hintsOf are the commands for an upload that nobody is at work on.
func hintsOf(x journal.Entry) hints {
	if x.Live {
		return hints{}
	}
	return hints{resumeOf(x.Record), abortOf(x.Record)}
}

// resumeOf is the command that goes on with an upload; nil if none can.
func resumeOf(r journal.Record) []string {
	if r.Source.Path == "" || r.State == journal.Aborting || r.State == journal.Orphaned || !isCp(r.Command) {
		return nil
	}
	return r.Command
}

// isCp tells a command line of ours from what somebody else has left in a
// journal.
func isCp(command []string) bool {
	return len(command) > 3 && command[0] == "chunkup" && command[1] == "cp"
}

// choose returns the journals that the names are about, each once: a name is a
// journal's path, a destination, or a source, and must be that of one journal only.
func choose(dir *journal.Dir, names []string) ([]journal.Entry, error) {
	entries, err := dir.List()
	if err != nil {
		return nil, err
	}
	var chosen []journal.Entry
	for _, name := range names {
		var found []journal.Entry
		var paths []string
		for _, x := range entries {
			if isAbout(x, name) {
				found, paths = append(found, x), append(paths, show(x.Path))
			}
		}
		switch len(found) {
		case 0:
			return nil, usagef("%s has no journal in %s: see chunkup state ls", show(name), show(dir.Path()))
		case 1:
			if !slices.ContainsFunc(chosen, func(x journal.Entry) bool { return x.Path == found[0].Path }) {
				chosen = append(chosen, found[0])
			}
		default:
			return nil, usagef("%s has %d journals: name one of %s", show(name), len(found), strings.Join(paths, ", "))
		}
	}
	return chosen, nil
}

// isAbout tells the journal that a name is about.
func isAbout(x journal.Entry, name string) bool {
	return absolute(name) == absolute(x.Path) ||
		x.Err == nil && (name == addressOf(x.Record) || x.Record.Source.Path != "" && absolute(name) == x.Record.Source.Path)
}

func newStateRm(e env) *cobra.Command {
	var s stateFlags
	cmd := &cobra.Command{
		Use:   "rm PATH|DEST|SOURCE...",
		Short: "Remove journals, and leave the uploads at the store as they are",
		Long:  stateRmHelp,
		Args:  atLeastOne("rm takes at least one PATH, DEST or SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), e.getenv); err != nil {
				return err
			}
			dir, err := s.list(e.getenv)
			if err != nil {
				return err
			}
			entries, err := choose(dir, args)
			for _, x := range entries {
				err = errors.Join(err, removeState(e, dir, x))
			}
			return err
		},
	}
	s.defineDir(cmd.Flags())
	return cmd
}

// removeState removes one journal that nobody uses.
func removeState(e env, dir *journal.Dir, x journal.Entry) error {
	claim, err := dir.ClaimEntry(x.Path)
	if err != nil {
		return err
	}
	r, ok := claim.Record()
	if err := claim.Remove(); err != nil {
		return err
	}
	if ok && r.UploadID != "" {
		fmt.Fprintf(e.stderr, "the upload to %s stays at the store, and may be billed until it is aborted\n%s\n",
			show(addressOf(r)), strings.Join(hints{abort: abortOf(r)}.lines(), "\n"))
	}
	_, err = fmt.Fprintf(e.stdout, "removed %s\n", show(cmp.Or(x.Path, claim.Path())))
	return err
}

// atLeastOne refuses a command line without arguments.
func atLeastOne(text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(text)
		}
		return nil
	}
}

// refuseSubcommand is for commands that do nothing by themselves.
func refuseSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return nil
}
