package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client needs no credentials, and none of what it is refused reaches the store.
func TestMintURLRefusals(t *testing.T) {
	f := newFake(t)
	m := f.startMint(t)
	source := file(t, "small", "content")
	before := len(f.requests)
	for _, c := range []struct {
		header, dest string
		args         string
		exit         int
		says         string
	}{
		{alice, "s3://other/in/alice/x", "", exitUsage, "uploads to the bucket bucket: use s3://bucket/…"},
		{alice, "s3://bucket/in/bob/x", "", exitUsage, "lets this caller write below s3://bucket/in/alice/ only"},
		{alice, "s3://bucket/in/alice/x", "--acl private", exitUsage, "--acl makes no sense with this minting service"},
		{alice, "s3://bucket/in/alice/x", "--tag a=b", exitUsage, "--tag makes no sense with this minting service"},
		{alice, "s3://bucket/in/alice/x", "--storage-class X", exitUsage, "--storage-class makes no sense"},
		{alice, "s3://bucket/in/alice/x", "--endpoint-url http://127.0.0.1:1", exitUsage, "--endpoint-url makes no sense with --mint-url (or CHUNKUP_MINT_URL)"},
		{alice, "s3://bucket/in/alice/x", "--region x", exitUsage, "--region makes no sense with --mint-url"},
		{alice, "s3://bucket/in/alice/x", "--profile x", exitUsage, "--profile makes no sense with --mint-url"},
		{alice, "s3://bucket/in/alice/x", "--provider aws", exitUsage, "--provider makes no sense with --mint-url"},
		{alice, "s3://bucket/in/alice/x", "--addressing path", exitUsage, "--addressing makes no sense with --mint-url"},
		{alice, "s3://bucket/in/alice/x", "--checksum-algorithm md5", exitUsage, "--checksum-algorithm makes no sense with --mint-url"},
		{alice, "s3://bucket/in/alice/x", "--sandbox-dir x", exitUsage, "--sandbox-dir makes no sense without sandbox://"},
		{alice, "sandbox://bucket/x", "--mint-url http://127.0.0.1:1", exitUsage, "--mint-url makes no sense with sandbox://"},
		{"", "s3://bucket/in/alice/x", "", exitDenied, "refused the token"},
		{"Authorization: Bearer s3kret-wrong", "s3://bucket/in/alice/x", "", exitDenied, "refused the token"},
	} {
		m.cp(t, c.header, append(strings.Fields(c.args), source, c.dest)...).want(t, c.exit).oneLine(t, c.says)
	}
	if n := len(f.requests) - before; n != 0 {
		t.Errorf("the store got %d requests", n)
	}
	m.cp(t, alice, source, "s3://bucket/in/alice/x", "--cache-control", "no-store", "--metadata", "a=b", "--content-type", "text/x").want(t, exitOK)
}

// What may be a secret is not repeated, whatever is wrong with it.
func TestMintHeaderIsNotRepeated(t *testing.T) {
	isolate(t)
	source := file(t, "small", "content")
	for _, header := range []string{"s3kret", "Authorization: ", ": s3kret", "Author ization: s3kret", "Authorization: s3kret\x01", "Host: s3kret", "idempotency-key: s3kret"} {
		for name, r := range map[string]ran{
			"flag":     world{}.run(t, "cp", source, "s3://bucket/x", "--mint-url", "http://127.0.0.1:1", "--mint-header", header),
			"variable": world{variables: map[string]string{"CHUNKUP_MINT_HEADER": header}}.run(t, "cp", source, "s3://bucket/x", "--mint-url", "http://127.0.0.1:1"),
		} {
			r.want(t, exitUsage).oneLine(t)
			if strings.Contains(r.stderr, "s3kret") {
				t.Errorf("%s %q: %s", name, header, r.stderr)
			}
		}
	}
	world{}.run(t, "cp", source, "s3://bucket/x", "--mint-header", alice).want(t, exitUsage).oneLine(t, "--mint-header makes no sense without --mint-url")
	r := world{}.run(t, "cp", source, "s3://bucket/x", "--mint-url", "http://u:s3kret@127.0.0.1:1").want(t, exitUsage)
	if strings.Contains(r.stderr, "s3kret") {
		t.Errorf("%s", r.stderr)
	}
}

// An upload goes on after a failure of the store, by each of the ways that are
// printed; what is kept of it has no secret.
func TestMintResumes(t *testing.T) {
	f, state := newFake(t), t.TempDir()
	m := f.startMint(t)
	source := sparse(t, "big", 12<<20)
	for _, c := range []struct {
		name, header, dest string
		again              func(first ran) ran
	}{
		{"the same command", alice, "s3://bucket/in/alice/1", func(ran) ran {
			return m.cp(t, alice, append([]string{source, "s3://bucket/in/alice/1", "--state-dir", state}, inThree...)...)
		}},
		{"pasted", alice, "s3://bucket/in/alice/2", func(first ran) ran {
			return shell(t, first.printed(t, "resume"), "CHUNKUP_MINT_HEADER="+alice)
		}},
		{"pasted, the service has chosen", bare, "s3://bucket/3", func(first ran) ran {
			return shell(t, first.printed(t, "resume"), "CHUNKUP_MINT_HEADER="+bare)
		}},
		{"state resume", bare, "s3://bucket/4", func(ran) ran {
			return m.command(t, bare, "state", "resume", "--all", "--state-dir", state)
		}},
		{"state resume with a flag", bare, "s3://bucket/5", func(ran) ran {
			return m.command(t, "", "state", "resume", "s3://bucket/5", "--state-dir", state, "--mint-header", bare)
		}},
	} {
		f.on(failing)
		first := m.cp(t, c.header, append([]string{source, c.dest, "--state-dir", state}, inThree...)...).want(t, exitIncomplete)
		f.on(nil)
		if !strings.Contains(first.stderr, "CHUNKUP_MINT_HEADER") || !strings.Contains(first.printed(t, "resume"), " "+c.dest+" ") {
			t.Errorf("%s: %s", c.name, first.stderr)
		}
		if ls := m.command(t, "", "state", "ls", "--state-dir", state).want(t, exitOK).stdout; !strings.Contains(ls, "--mint-url "+m.url) || !strings.Contains(ls, "CHUNKUP_MINT_HEADER") {
			t.Errorf("%s: %s", c.name, ls)
		}
		noSecret(t, state)
		if r := c.again(first).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
			t.Errorf("%s: %s", c.name, r.stdout)
		}
	}
	if u := f.unfinished(); len(u) != 0 {
		t.Errorf("unfinished: %v", u)
	}
}

// noSecret looks for the tokens in all files of a folder.
func noSecret(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "s3kret") {
			t.Errorf("%s has the token: %s", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The printed command drops an upload, whatever key it has, and its journal.
func TestMintAborts(t *testing.T) {
	f, state := newFake(t), t.TempDir()
	m := f.startMint(t)
	source := sparse(t, "big", 12<<20)
	for header, dest := range map[string]string{alice: "s3://bucket/in/alice/1", bare: "s3://bucket/2"} {
		f.on(failing)
		first := m.cp(t, header, append([]string{source, dest, "--state-dir", state}, inThree...)...).want(t, exitIncomplete)
		f.on(nil)
		if ls := m.command(t, "", "state", "ls", "--state-dir", state).stdout; !strings.Contains(ls, "abort:  "+first.printed(t, "abort")+"\n") {
			t.Errorf("%s\ndoes not have the line %s", ls, first.printed(t, "abort"))
		}
		shell(t, first.printed(t, "abort"), "CHUNKUP_MINT_HEADER=Authorization: Bearer wrong").want(t, exitDenied)
		r := shell(t, first.printed(t, "abort"), "CHUNKUP_MINT_HEADER="+header).want(t, exitOK)
		if !strings.HasPrefix(r.stdout, "aborted s3://bucket/in/") || len(f.unfinished()) != 0 {
			t.Errorf("%s, unfinished: %v", r.stdout, f.unfinished())
		}
		if ls := m.command(t, "", "state", "ls", "--state-dir", state).want(t, exitOK).stdout; ls != "" {
			t.Errorf("%s: a journal is left: %s", dest, ls)
		}
	}
}

// What is for one service is not shown to another.
func TestMintHeaderIsForOneService(t *testing.T) {
	state := t.TempDir()
	var last *minting
	source := sparse(t, "big", 12<<20)
	for _, dest := range []string{"s3://bucket/1", "s3://bucket/2"} {
		f := newFake(t)
		m := f.startMint(t)
		f.on(failing)
		m.cp(t, bare, append([]string{source, dest, "--state-dir", state}, inThree...)...).want(t, exitIncomplete)
		f.on(nil)
		last = m
	}
	last.command(t, bare, "state", "resume", "--all", "--state-dir", state).want(t, exitUsage).oneLine(t, "is for one minting service")
	last.command(t, bare, "state", "resume", "s3://bucket/2", "--state-dir", state).want(t, exitOK)
}
