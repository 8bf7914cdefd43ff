package main

const stateHelp = `List, resume and remove what is kept of unfinished uploads.

An upload in parts writes down in a journal what it is about to do, and removes
the journal when it has ended well. What is left in the folder was interrupted,
has failed, or is being uploaded right now.`

const stateExamples = `  chunkup state ls
  chunkup state resume --all
  chunkup state resume s3://bucket/big.iso
  chunkup state rm s3://bucket/big.iso`

const stateLsHelp = `List the unfinished uploads, the oldest first: what goes where, how far it is,
the command that resumes it, and the one that drops it at the store.

The parts done are those that the journal knows of; the store may have more.
With --json there is an object of type "state" for each.`

const stateResumeHelp = `Go on with unfinished uploads, one after another, by the commands that
chunkup state ls prints.

The variables CHUNKUP_… change nothing in those commands, but CHUNKUP_MINT_HEADER:
what a minting service knows its caller by is in no journal. A DEST or a SOURCE that
several journals are about is refused: give the PATH of one.

An upload that runs right now, one from standard input, and one that was given up
cannot be resumed. They are named; with --all that is no failure.

EXIT CODES
  0    all ended well
  1    at least one could not be resumed
  2    bad flags or values, or no such journal
  else the worst exit code of chunkup cp`

const stateRmHelp = `Remove journals. Nothing can go on with their uploads then.

What was sent stays at the store, and may be billed until it is aborted: the
command that does so is printed. A DEST or a SOURCE that several journals are about
is refused: give the PATH of one. An upload that runs right now keeps its journal.

EXIT CODES
  0    all were removed
  1    at least one could not be, or is in use
  2    bad flags or values, or no such journal`

const uploadsHelp = `List, abort and clean up unfinished uploads at a store.

What was sent of an upload that was never completed is stored and billed, and
shows in no list of objects.`

const uploadsExamples = `  chunkup uploads ls s3://bucket
  chunkup uploads abort s3://bucket/big.iso --upload-id 2~abc
  chunkup uploads cleanup s3://bucket/backups/ --max-age 72h --dry-run`

const uploadsLsHelp = `List the unfinished uploads of keys that begin with the prefix: the key, the
upload's id, when it was begun, and who owns it by the journals in --state-dir:
live (a process is at work), resumable, given up, or none.

With --json there is an object of type "upload" for each. Of a sandbox:// there has
to be a folder: only cp makes one.`

const uploadsLsExamples = `  chunkup uploads ls s3://bucket
  chunkup uploads ls s3://bucket/backups/ --json`

const uploadsAbortHelp = `Drop one unfinished upload, again until none of its parts is left, and the
journal that is about it. One that the store does not know is said not to
be there (any more), which is no failure. One that a process on this machine is at
work on is refused, by whatever name that calls the store.`

const uploadsAbortExamples = `  chunkup uploads abort s3://bucket/big.iso --upload-id 2~abc
  chunkup uploads abort s3://uploads/big.iso --upload-id eyJ1 --mint-url https://uploads.example.com`

const uploadsCleanupHelp = `Drop the unfinished uploads that are older than --max-age, of keys that begin
with the prefix.

One that a journal in --state-dir can resume, or that is being uploaded from this
machine, is never dropped, by whatever name the store is called. One that a
journal says was given up is dropped whatever its age, and the journal with it.
Uploads from other machines are known by their age only.

With --json there is an object of type "removed" for each, and of type "kept" for
each that could not be dropped.`

const uploadsCleanupExamples = `  chunkup uploads cleanup s3://bucket --dry-run
  chunkup uploads cleanup s3://bucket/backups/ --max-age 168h`

const remoteExits = `EXIT CODES
  0    done
  1    it failed
  2    bad flags or values
  4    denied: no credentials found, wrong ones, signature, policy
  130  interrupted`

const verifyHelp = `Prove that an object holds the bytes of a file, by its size and by the checksum
that the store itself made of it.

Where the store has made none that can be compared, --read downloads the object,
8 MiB at a time, and compares every byte.`

const verifyExamples = `  chunkup verify big.iso s3://bucket/big.iso
  chunkup verify big.iso s3://bucket/big.iso --read`

const verifyExits = `EXIT CODES
  0    equal
  1    not proved: there is no checksum to compare, or the store failed
  2    bad flags or values, or a file that cannot be read
  4    denied: no credentials found, wrong ones, signature, policy
  5    different, or the file changed meanwhile
  130  interrupted`
