// A Companion that stores into the bucket which the environment names. It prints its
// address, and ends with whoever started it.
import { app } from '@uppy/companion'
import express from 'express'

const { DATA, STORE, BUCKET, ACCESS_KEY, SECRET_KEY, EXPIRES } = process.env

const { app: companion } = app({
  server: { host: '127.0.0.1', protocol: 'http' },
  filePath: DATA,
  secret: SECRET_KEY,
  corsOrigins: true,
  metrics: false,
  uploadUrls: [STORE],
  s3: {
    endpoint: STORE,
    bucket: BUCKET,
    region: 'us-east-1',
    key: ACCESS_KEY,
    secret: SECRET_KEY,
    forcePathStyle: true,
    expires: Number(EXPIRES),
    getKey: ({ filename }) => `companion/${filename}`,
  },
})

const server = express().use(companion).listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
process.stdin.resume().on('end', () => process.exit())
