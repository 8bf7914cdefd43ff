// The list below the dashboard: how many parts of each file are at the store, and
// which were sent again, and why.

const most = 200 // lines of what happened

export class Progress {
  #files = new Map()

  constructor(section, list, events) {
    Object.assign(this, { section, list, events })
  }

  part({ file, number, total }, what, why) {
    const row = this.#row(file, total)
    if (what === 'sent') row.sent.add(number)
    if (what === 'failed') row.failed.set(number, why)
    if (what === 'sending' && row.failed.has(number)) {
      this.#tell(`${file.name}, part ${number}: sent again (${row.failed.get(number)})`)
      row.failed.delete(number)
      row.again++
    }
    this.#draw(row)
  }

  done(file) {
    this.#tell(`${file.name}: complete`)
  }

  failed(file, error) {
    this.#tell(`${file.name}: ${error.message}`, 'problem')
  }

  forget(file) {
    this.#files.get(file.id)?.item.remove()
    this.#files.delete(file.id)
  }

  #row(file, total) {
    let row = this.#files.get(file.id)
    if (!row) {
      row = { total, sent: new Set(), failed: new Map(), again: 0 }
      row.item = this.list.appendChild(document.createElement('li'))
      row.item.append(name(file), document.createElement('progress'), document.createElement('span'))
      row.item.children[1].setAttribute('aria-label', `Parts of ${file.name}`)
      this.#files.set(file.id, row)
      this.section.hidden = false
    }
    return row
  }

  #draw({ item, sent, total, again }) {
    const [, bar, text] = item.children
    bar.max = total
    bar.value = sent.size
    text.textContent = `${sent.size} of ${total} parts${again ? `, ${again} sent again` : ''}`
  }

  #tell(sentence, style) {
    this.section.hidden = false
    const line = this.events.appendChild(document.createElement('li'))
    line.textContent = sentence
    if (style) line.className = style
    while (this.events.children.length > most) this.events.firstChild.remove()
  }
}

function name(file) {
  const b = document.createElement('b')
  b.textContent = file.name
  return b
}
