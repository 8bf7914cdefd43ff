// Package journal keeps on disk what is known about an upload, so that a later
// run can go on from there, and does the arithmetic of resuming.
//
// [Open] names a folder. [Dir.Claim] takes the journal of one destination
// (endpoint, bucket and key), says what is in it, and keeps every other process
// and every other caller in this one away until [Claim.Remove] or
// [Claim.Release]. [Claim.Save] replaces the record. [Dir.List] shows what is
// there, and [Kept] says which of the parts that a store lists may be kept.
//
// # On disk
//
// A destination has one file, <hash>.json, readable by its owner only, and while
// it is claimed a lock file, <hash>.lock. The lock is the kernel's, so it ends
// with the process however that ends. A record is replaced whole: written beside
// the old one, flushed to the disk, and renamed over it. Whatever happens, a
// power cut included, the file has the old record or the new one.
//
// Nothing in a journal is trusted. One that is damaged, cut, empty, too large,
// of another destination than its name says or of a newer version is renamed to
// <hash>.json.bad-<n>, never deleted, and the destination starts afresh with a
// warning. A journal whose bytes cannot be read at all is an error, because what
// is in it may be good.
//
// The version is raised when an older program would go wrong with a newer
// record. A field that this version does not know is not a reason to refuse the
// record: it is ignored, and gone after the next Save.
//
// # What it does not do
//
// It keeps no secrets: Save refuses headers that carry keys ([Secret]). It does
// not talk to a store and does not look at local files. It does not choose a
// folder.
package journal
