package integration

import (
	"errors"
	"os/exec"
	"slices"
	"testing"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
)

// Exit codes of the command that say what a lie was taken for (docs/cli.md).
const (
	failed     = 1
	incomplete = 3
	integrity  = 5
)

// The command does not believe a store either, and says why it failed. What it could
// not see, verify --read does.
func TestLieCommand(t *testing.T) {
	path := command(t)
	parts, one := check.Pattern(11*mib), check.Pattern(mib)
	both := []string{"minio", "generic"}
	for _, c := range []struct {
		told     lie
		profiles []string
		src      check.Source
		exit     int
	}{
		{kept(rawstore.PutPart)[4], both, parts, integrity},
		{kept(rawstore.PutPart)[0], both, parts, failed},
		{kept(rawstore.Complete)[2], both, parts, integrity},
		{denied(rawstore.PutPart)[4], both[:1], parts, integrity},
		{denied(rawstore.Complete)[0], both[1:], parts, integrity},
		{says("says another ETag of the object", rawstore.Complete, 0, anotherETag), both, parts, integrity},
		{noSuccess(false)[0], both, parts, incomplete},
		{noSuccess(false)[1], both, parts, incomplete},
		{noSuccess(false)[2], both, parts, incomplete},
		{kept(rawstore.PutObject)[4], both, one, integrity},
		{denied(rawstore.Complete)[4], both, parts, 0},
		{denied(rawstore.PutObject)[4], both, one, 0},
	} {
		for _, profile := range c.profiles {
			t.Run(profile+", "+c.told.name, func(t *testing.T) {
				check.Leaks(t)
				store := rawstore.Start(t, rawstore.Options{Rules: []rawstore.Rule{{Op: c.told.op, Part: c.told.part, Count: -1, Do: c.told.do}}})
				file := check.TempFile(t, c.src)
				run := func(want int, args ...string) {
					t.Helper()
					cmd := exec.Command(path, slices.Concat(args[:1], []string{"--provider", profile, "--endpoint-url", store.URL()}, args[1:], []string{file, "s3://bucket/key"})...)
					cmd.Env = environment(t, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
					out, err := cmd.CombinedOutput()
					var exit *exec.ExitError
					if err != nil && !errors.As(err, &exit) {
						t.Fatal(err)
					}
					if got := cmd.ProcessState.ExitCode(); got != want {
						t.Errorf("%s: exit code %d, want %d: %s", args[0], got, want, out)
					}
				}
				run(c.exit, "cp", "--state-dir", t.TempDir(), "--part-size", "5MiB", "--multipart-threshold", "5MiB", "--backoff-base", "1ms", "--backoff-cap", "5ms")
				if c.exit == 0 {
					run(integrity, "verify", "--read")
				}
			})
		}
	}
}
