// Makes the bundle: node build.mjs FOLDER, after npm ci.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const out = process.argv[2]
mkdirSync(out, { recursive: true })

const { metafile } = await build({
  entryPoints: { page: 'main.js' },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['chrome109', 'firefox115', 'safari16'],
  legalComments: 'none', // LICENSES.txt has them whole
  metafile: true,
  logLevel: 'warning',
})
cpSync('index.html', join(out, 'index.html'))
writeFileSync(join(out, 'LICENSES.txt'), licenses(Object.keys(metafile.inputs)))

// licenses is the licence of each package that is in the bundle.
function licenses(inputs) {
  const folders = inputs.map((path) => path.match(/^node_modules\/(.*\/node_modules\/)?(@[^/]+\/)?[^/]+/)?.[0])
  const entries = [...new Set(folders.filter(Boolean))].sort().map((folder) => {
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return `${about.name} ${about.version} (${about.license})\n\n${license(folder)}\n`
  })
  return ['The page contains these packages.\n', ...entries].join(`\n${'-'.repeat(72)}\n\n`)
}

// license is the text of the licence file, or of the readme's section.
function license(folder) {
  const find = (pattern) => readdirSync(folder).find((name) => pattern.test(name))
  const read = (name) => readFileSync(join(folder, name), 'utf8').replace(/\r/g, '')
  const file = find(/^licen[cs]e/i)
  if (file) return read(file).trim()
  const section = read(find(/^readme/i)).split(/^#+ licen[cs]e.*$/im)[1]
  if (!section) throw new Error(`${folder} has no licence text`)
  return section.trim()
}
