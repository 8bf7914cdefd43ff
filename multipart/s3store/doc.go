// Package s3store is multipart.Control over the AWS SDK, and what the stores
// that speak S3 differ in.
//
// [NewClient] makes the SDK's client as an uploader needs it: no retries of
// its own, our connections and deadlines. [New] makes the control plane from
// it and from a [Profile], which is data: pick one by [ByName], or find it from
// the endpoint with [Detect]. The bytes do not pass through here: see
// presign/s3presign.
package s3store
