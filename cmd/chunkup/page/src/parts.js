// Uppy's S3 plugin, which also tells what happens to each part.
import AwsS3 from '@uppy/aws-s3'

const mib = 1 << 20

// How long a part may take before it is sent again, in seconds, however short the
// life of its URL is: stores look at the expiry when a request arrives, not while it
// goes on, but the plugin gives up on a part when its URL has expired.
const patience = 600

// What the plugin waits for without end if the store's CORS rules hide it.
const hidden = 'the store does not show the ETag to this page: its CORS rules need ExposeHeaders: ETag'

// Parts takes what AwsS3 takes, without signPart and uploadPartBytes, and
//   maxParts: of an upload; 0 or none: 10,000
//   onPart({ file, number, total }, 'sending' | 'sent' | 'failed', why)
export class Parts extends AwsS3 {
  #signed

  constructor(uppy, { onPart, maxParts, ...options }) {
    const signed = new WeakMap() // from a signature to its part
    super(uppy, {
      // A file of one part, too: only what goes up in parts is tried again, and
      // signed anew for each try.
      shouldUseMultipart: true,
      allowedMetaFields: [],
      getChunkSize: ({ size }) => chunkSize(size, maxParts),
      ...options,
      uploadPartBytes: (request) => send(request, signed.get(request.signature), onPart),
    })
    this.#signed = (signature, file, number) => {
      const total = Math.max(1, Math.ceil(file.size / chunkSize(file.size, maxParts)))
      signed.set(signature, { file, number, total })
    }
  }

  async signPart(file, options) {
    const signature = await super.signPart(file, options)
    this.#signed(signature, file, options.partNumber)
    return signature
  }
}

// chunkSize is 16 MiB, or the least number of MiB that makes no more than maxParts.
function chunkSize(size, maxParts) {
  return Math.max(16, Math.ceil(size / (maxParts || 10_000) / mib)) * mib
}

// send sends one part and tells how that goes.
async function send(request, part, onPart) {
  onPart(part, 'sending')
  try {
    const result = await sendBytes(request)
    onPart(part, 'sent')
    return result
  } catch (err) {
    if (!request.signal?.aborted) onPart(part, 'failed', reason(err))
    throw err
  }
}

function sendBytes(request) {
  return new Promise((resolve, reject) => {
    AwsS3.uploadPartBytes({
      ...request,
      signature: { ...request.signature, expires: Math.max(request.signature.expires ?? 0, patience) },
      onProgress: (event) => {
        request.onProgress(event)
        // The plugin's own report, after the last byte was taken by the store: the
        // ETag is there now, or it never will be.
        if (!(event instanceof ProgressEvent)) setTimeout(reject, 1000, new Error(hidden))
      },
    }).then(resolve, reject)
  })
}

function reason(err) {
  if (err.message === 'Request has expired') return 'its link had expired'
  if (err.message === hidden) return hidden
  const status = err.source?.status
  return status ? `the store answered ${status}` : 'the connection was lost'
}
