// Command bench measures chunkup beside what else uploads to S3: one table, whose
// rows are each measured side by side in one run.
//
//	go run ./integration/bench                      all rows; takes three hours
//	go run ./integration/bench -row tls,http -n 3   some of them
//	go run ./integration/bench -scale 0.05 -n 1     a quick look, whose figures mean little
//	go run ./integration/bench -write               and into docs/benchmarks.md and .svg
//	go run ./integration/bench sink [flags]         only the server that discards
//
// Run it from the top of the repository, on a machine that does nothing else.
//
// The uploaders of aws-sdk-go-v2 are always measured; s5cmd, rclone, mc and aws if
// they are on the PATH, or in the folder that BENCH_PEERS names. Each measurement is
// a new process with a home folder of its own, and for the rows of the sink a new
// sink. The order of the contestants turns round with every repetition. Nobody gets
// more than ten times the best time so far, or than twice what it has taken before.
package main
