// The page: ask for the token if the service wants one, then hand files to Uppy.
import Uppy from '@uppy/core'
import Dashboard from '@uppy/dashboard'
import './page.css'
import { Access, Refused } from './access.js'
import { Parts } from './parts.js'
import { Progress } from './progress.js'

const element = (id) => document.getElementById(id)
const settings = document.body.dataset

const endpoint = new URL(settings.endpoint || '.', document.baseURI).href.replace(/\/$/, '')
const access = new Access(endpoint)

access.take(location, history)
element('access').addEventListener('submit', (event) => {
  event.preventDefault()
  access.set(element('token').value.trim())
  open()
})
open()

// open shows the dashboard if the service lets the caller in, else the form.
async function open() {
  say('')
  try {
    const about = await access.about()
    element('access').hidden = true
    start(about)
  } catch (err) {
    const refused = err instanceof Refused
    element('access').hidden = !refused
    if (refused) {
      element('token').value = ''
      element('token').focus()
    }
    // Who has not given a token yet has done nothing wrong.
    if (!refused || access.token) say(err.message)
  }
}

function start(about) {
  element('upload').hidden = false
  const limits = [Number(settings.maxSize), about.maxSize].filter((n) => n > 0)
  const uppy = new Uppy({
    restrictions: { maxFileSize: limits.length ? Math.min(...limits) : null },
  })
  uppy.use(Dashboard, {
    inline: true,
    target: '#dashboard',
    width: '100%',
    height: 380,
    theme: 'auto',
    showProgressDetails: true,
    proudlyDisplayPoweredByUppy: false,
  })
  const progress = new Progress(element('log'), element('files'), element('events'))
  uppy.use(Parts, {
    endpoint,
    headers: access.headers(),
    maxParts: about.maxParts,
    onPart: (part, what, why) => progress.part(part, what, why),
  })
  uppy.on('upload-success', (file) => progress.done(file))
  uppy.on('upload-error', (file, error) => progress.failed(file, error))
  uppy.on('file-removed', (file) => progress.forget(file))
}

function say(sentence) {
  element('problem').textContent = sentence
}
