// Access to the service: the token, and what the service says of itself.

const item = 'chunkup-token'

// Refused says that the service wants a token, or another one.
export class Refused extends Error {}

export class Access {
  constructor(endpoint) {
    this.endpoint = endpoint
    this.token = sessionStorage.getItem(item) ?? ''
  }

  // take moves the token of an address like …/#token=… into the tab's storage, so
  // that it is neither seen nor kept in the history.
  take(location, history) {
    const token = new URLSearchParams(location.hash.slice(1)).get('token')
    if (!token) return
    this.set(token)
    history.replaceState(null, '', location.pathname + location.search)
  }

  set(token) {
    this.token = token
    sessionStorage.setItem(item, token)
  }

  headers() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {}
  }

  // about asks the service for its limits. A plain Companion has none to tell.
  async about() {
    let answer
    try {
      answer = await fetch(`${this.endpoint}/s3/chunkup`, { headers: this.headers(), cache: 'no-store' })
    } catch {
      throw new Error(`The service at ${this.endpoint} cannot be reached. Reload the page to try again.`)
    }
    if (answer.status === 401 || answer.status === 403) {
      throw new Refused('The service refused the token.')
    }
    if (answer.status === 404) return {}
    if (!answer.ok) throw new Error(`The service answered ${answer.status}. Reload the page to try again.`)
    return answer.json()
  }
}
