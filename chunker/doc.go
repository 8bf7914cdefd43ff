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
// A stream of unknown length takes [PlanStream] instead, whose [Growth] says how
// the parts grow, and [NewCutter]: the [Cutter] reads the stream and hands out
// one [Piece] after another, each a part held in memory that can be read as often
// as needed. The [Memory] that they are held in is a budget that any number of
// streams share. [Join] makes the digest of the whole from those of the pieces.
//
// The package does not talk to a store, does not buffer the parts of files and
// does not lock files: a file may be changed while it is read, which is why it can
// be asked about. It starts no goroutines but those in which a Cutter reads, and
// those end with their read. It does not retry a read of a stream, nor can it: an
// upload of one that was interrupted starts again.
package chunker
