// Package sink is an S3 server that keeps nothing: it reads what it is sent as
// cheaply as the machine lets it, throws it away, and answers as a store would
// that kept it. A client measured against it is measured alone.
//
// It remembers of an object only its size, its ETag, its user metadata and the
// checksums that the client declared, and says those back. It computes no
// checksum and checks none, and neither signatures: nothing may ever take it
// for a store. Faults and slow links are made on request, see [Options].
package sink
