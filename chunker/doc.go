// Package chunker decides how an object is cut into parts, reads the parts, and
// says what their bytes are.
//
// Call [NewPlan] first: it turns a size and the [Limits] of a store into a
// [Plan], a plain value that can be kept in a file and gives the same parts
// again. [OpenFile] or [NewReaderAt] gives the [Source] to read from, and
// [Part.Reader] the bytes of one part, as often as an attempt needs them.
// [Sum] makes the [Digest] of a part; [Whole] makes the digest of the whole
// object from those of its parts without reading a byte again. Before the
// object is declared complete, [Source.Changed] tells whether the file is still
// the one that was opened.
//
// The package does not talk to a store, does not start goroutines, does not
// buffer parts and does not lock files: a file may be changed while it is read,
// which is why it can be asked about. It does not read streams of unknown
// length: buffer a part of one and hand it over as a [NewReaderAt].
package chunker
