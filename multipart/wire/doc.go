// Package wire makes one HTTP attempt and says what came of it.
//
// A [Client] sends one request under the deadlines of [Limits], each phase
// with its own bound and its own typed error, reads a bounded piece of the
// answer, and returns. It never retries, never follows a redirect, speaks
// HTTP/1.1 only (parts that share one HTTP/2 connection stall together), and
// has no clock but the time package's. [Classify] is the one place where an
// answer or an error becomes a decision: a pure function to a [Class].
//
// A connection carries one attempt at a time. One that has failed or answered
// 5xx carries no other. [Request.Fresh] leaves those that are kept alone, too: it
// looks the name up again and dials.
//
// # What counts as sent
//
// A socket buffer swallows megabytes, so a body that was written has not left
// yet. On Linux and darwin the client therefore bounds what may wait unsent in
// the kernel, and asks the kernel how much the other side has not acknowledged;
// progress, stalls and the start of the wait for an answer go by that. On other
// systems, and over connections that are not TCP, a byte counts as sent when
// the connection has taken it, a stall is noticed when the buffers are full, and
// the wait for the answer begins with the last write; the bounds still hold.
package wire
