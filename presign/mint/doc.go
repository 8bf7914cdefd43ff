// Package mint lets clients upload that hold no credentials: laptops, build machines,
// devices, browsers. A service which has the store's credentials begins and completes
// their uploads and hands out an authorised request for each part; the bytes go from the
// client straight to the store.
//
// [Handler] is that service, an http.Handler to mount wherever a backend likes it. Begin
// with [NewHandler], a multipart.Control and a presign.Provider of the store, and one of
// [Bearer], [Tickets], [Anyone] or a function of your own for who may use it. It needs no
// memory to serve an upload: the upload ids that clients see are sealed and hold what it
// has to know. What it remembers in a [Ledger] is which uploads are open, to bound them,
// to abort what nobody finishes, and to give the same create the same upload.
//
// [Client] is the other end: a multipart.Control and a presign.Provider over HTTP, for
// the engine of package multipart. Begin with [Dial].
//
// Between them is the S3 multipart protocol of Uppy's Companion, so that Uppy works with
// the handler, and the client with a Companion. What both have beyond it (length and
// digest signed into each request, when it ends, a key that makes creates idempotent)
// is in fields that others ignore; [Version] counts those.
//
// The handler logs nothing, and neither its answers' errors nor its events hold a URL, a
// signature or a token. TLS, timeouts of connections and shutdown are the http.Server's.
// A size that the client does not say when a part is signed is only known when the object
// is completed; it is checked then, by what the store says, and what is too large is
// dropped.
package mint
