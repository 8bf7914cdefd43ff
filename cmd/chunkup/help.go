package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `chunkup uploads large files to S3 and to the stores that speak it.

A file goes up in parts, several at a time. Each part has a deadline that is
sized from its bytes, every retry is paid from one budget that all parts of all
files share, and success is said only when the store's own checksum proves it.
What is interrupted goes on where it stopped: the same command resumes.

` + exitHelp

const rootExamples = `  chunkup cp big.iso s3://bucket/
  chunkup cp big.iso sandbox://demo/      needs no account and no server
  chunkup state resume --all              goes on with what was interrupted
  chunkup verify big.iso s3://bucket/big.iso
  chunkup sandbox --bucket demo           serves a store on this machine`

const cpHelp = `Upload files, folders, or standard input.

SOURCE is a file, a folder (with -r), or - for standard input. DEST is
s3://bucket/key, or s3://bucket/prefix/ to put the files' own names after the
prefix. With sandbox:// in place of s3:// the command serves an S3 store from
./chunkup-sandbox for as long as it runs, creates the bucket, uploads and
verifies: it needs no account and no server.

With -r the file DIR/sub/file becomes s3://bucket/prefix/sub/file. Folders are read
while files go up. --include and --exclude are matched against sub/file, in the
order given; what none matches is uploaded. --files-from names more sources, which
are as those on the command line. Of two files that would become one object the
second fails. A file that cannot be read fails, too, and does not end the others;
links and what is no regular file are skipped with a warning.

With cp - DEST -- COMMAND ARGS the command is run and its output uploaded. There
is an object only if it exits 0; if the upload fails, the command is ended.

In DEST {sha256} stands for the hash of the file (64 hexadecimal digits), {name}
for its name, {ext} for what follows the last dot of the name (it may be empty),
and {lbrace} for a brace that begins no placeholder.

An upload in parts that fails or is interrupted keeps a journal in --state-dir:
the same command goes on where it stopped. Standard input cannot be read again,
so what of it was sent is dropped.

Credentials come from where the AWS CLI has them: the environment, the files in
~/.aws, the machine's role. They are looked for before anything is sent. With
--mint-url there need be none: a minting service (chunkup mint, or Uppy's Companion)
hands out every request, to whom --mint-header or CHUNKUP_MINT_HEADER tells it. It
may choose another key than DEST's, which is said.

Sizes take 16MiB, 16MB or 1.5GiB, a bare number is bytes; rates take 10MiB/s;
durations 1m30s. Every flag can also be set as CHUNKUP_ and its name in upper
case with underscores: CHUNKUP_PART_SIZE=64MiB. A flag beats the environment.

Results go to standard output, everything else to standard error. A bar is drawn
on a terminal only.`

const cpExamples = `  chunkup cp big.iso s3://bucket/backups/
  chunkup cp big.iso sandbox://demo/big.iso
  chunkup cp a.tar b.tar s3://bucket/archive/ --storage-class STANDARD_IA
  chunkup cp -r photos s3://bucket/photos/ --exclude '*' --include '*.jpg'
  find . -newer stamp -type f -print0 | chunkup cp --files-from - --null s3://bucket/new/
  chunkup cp big.iso s3://bucket/big --endpoint-url http://127.0.0.1:9000 --part-size 64MiB
  chunkup cp big.iso s3://bucket/big --json --max-elapsed 0 --retry-budget 4
  chunkup cp big.iso 's3://bucket/{sha256}.{ext}' --no-overwrite
  chunkup cp big.iso s3://uploads/ --mint-url https://uploads.example.com
  tar c dir | chunkup cp - s3://bucket/dir.tar --expected-size 40GiB
  chunkup cp - s3://bucket/db.sql -- pg_dump db`

const sandboxHelp = `Serve an S3 store from a local folder, for trying things out.

It listens on this machine only, and knows one account. The lines that it prints
on standard output make any S3 client use it. Objects are plain files in the
folder, and outlive the command. It runs until it is interrupted.

Every flag can also be set as CHUNKUP_ and its name in upper case with
underscores: CHUNKUP_LISTEN=127.0.0.1:9200. A flag beats the environment.

EXIT CODES
  0  interrupted, which is how it is meant to end
  1  the store could not be started, or ended by itself
  2  bad flags or values`

const sandboxExamples = `  chunkup sandbox --bucket demo
  chunkup sandbox --listen 127.0.0.1:0 --dir /tmp/store --access-key me --secret-key secret`

const exitHelp = `EXIT CODES
  0    every source was uploaded and verified
  1    at least one source failed for good
  2    bad flags or values, or a source that cannot be read: nothing was sent
  3    incomplete: nothing is lost, the same command resumes
  4    denied: no credentials found, wrong ones, signature, policy
  5    integrity: the source changed while it was read, or a checksum did not match
  6    outcome unknown: the store may or may not have the object, and would not say
  130  interrupted: what was sent is kept, and the command that resumes is printed
  With several sources the worst counts, in the order 6, 5, 4, 1, 3.`

// printUsage prints the usage of a command whose flags come in groups.
func printUsage(cmd *cobra.Command, groups []group, exits string) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "USAGE\n  %s\n\nEXAMPLES\n%s\n", cmd.UseLine(), cmd.Example)
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s FLAGS\n%s", strings.ToUpper(g.title), g.set.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(w, "\n%s\n", exits)
	return nil
}

const helpWidth = 100
