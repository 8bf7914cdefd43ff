// Package wire makes one HTTP attempt and says what came of it.
//
// A [Client] sends one request under the deadlines of [Limits], each phase
// with its own bound and its own typed error, reads a bounded piece of the
// answer, and returns. It never retries, never follows a redirect, speaks
// HTTP/1.1 only (parts that share one HTTP/2 connection stall together), and
// has no clock but the time package's. [Classify] is the one place where an
// answer or an error becomes a decision: a pure function to a [Class].
package wire
