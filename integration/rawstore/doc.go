// Package rawstore is a small S3 store over bare TCP that does, request by
// request and byte by byte, what no real server can be told to do: read so many
// bytes and then reset the connection, answer half a status line, go silent,
// trickle, never answer an Expect, refuse before it has read anything, keep other
// bytes than it was sent and say what is not true.
//
// Start runs one with a list of [Rule]s; a request that no rule takes is served
// as S3 would, so that whole uploads go through and can be read back with
// [Store.Client]. [Store.Requests] says what arrived. For tests only.
//
// It knows one user, whose signatures it does not look at, any bucket, and of the
// operations only those of an upload and of reading it back. A part's ETag is its
// MD5 and an object's that of its parts, which is what the generic profile of
// s3store expects. It verifies a Content-MD5 and a CRC64NVME, and names the latter of
// a part and of a full object where it was given it, as the profiles of AWS and
// MinIO expect. Everything is kept in memory.
package rawstore
