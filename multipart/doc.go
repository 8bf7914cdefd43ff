// Package multipart uploads large objects: it cuts a source into parts, sends
// them at once, each under deadlines sized from its bytes, pays every retry
// from one budget that all uploads of an [Endpoint] share, and says that it
// worked only when the store's own answer proves it.
//
// Make an [Uploader] with [New] from a [Control] (create, list, complete,
// abort, head: package s3store has one over the AWS SDK) and a
// presign.Provider (where the authorised request for each part comes from),
// and call [Uploader.UploadFile] or [Uploader.Upload]. Uploaders are safe for
// concurrent use, and those that talk to the same scheme, host and bucket share
// one Endpoint without being told to.
//
// Bytes of no known size go up with [Uploader.UploadStream]. With [Options.Journal]
// an upload that was interrupted, by a crash even, goes on when it is called again;
// [Uploader.Resume] and [Uploader.Abort] do it by name, and [Uploader.Verify] holds
// an object against its source.
//
// Without a journal the package keeps nothing on disk; it draws nothing and logs
// nothing: see [Options.OnEvent]. It is not the standard library's mime/multipart.
package multipart
