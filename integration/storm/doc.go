// Package storm is an experiment: what happens to a store, and to those who
// upload to it, when it or the way to it fails for a minute.
//
// Many processes upload at once through a scripted path to a scripted store.
// Those of chunkup run its real budget, breaker and lanes, put together in the
// order of its engine; beside them stand the retry policies of others. Time is
// faked, so a run of minutes takes a second.
//
//	go test ./integration/storm -run TestStorm            holds chunkup to its bounds
//	go test -tags full ./integration/storm -run TestStorm -update   writes docs/resilience.{md,svg} again
//
// docs/resilience.md explains what is measured and what the model leaves out.
package storm
