// Makes a folder and a .tar.gz with its own Node.js, for machines without npm: unpack it and run ./waggle. It holds what
// this platform needs and nothing else. Tries it in an empty environment unless --no-try is given.
//
//   node --import tsx scripts/package/bundle.ts [--out DIR] [--no-try] [FILE.tgz]
//
// For the platform that it runs on, with the Node.js that runs it. Linux and macOS.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { packWhole, prune, ROOT, run, trainAndInterrupt } from './packed.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    out: { type: 'string', default: join(ROOT, '.cache/bundle') },
    try: { type: 'boolean', default: true },
  },
})
const out = resolve(values.out)
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const name = `waggle-${version}-${process.platform}-${process.arch}`
const folder = join(out, name)

const LAUNCHER = `#!/bin/sh
# Runs Waggle with the Node.js beside it, wherever this folder lies and whatever it is called by.
self=$0
while [ -h "$self" ]; do
  to=$(readlink "$self")
  case $to in /*) self=$to ;; *) self=$(dirname "$self")/$to ;; esac
done
here=$(cd "$(dirname "$self")" && pwd)
exec "$here/bin/node" "$here/node_modules/waggle/dist/daemon/cli/waggle.js" "$@"
`

/** Bytes of all files in it. */
function sizeOf(path: string): number {
  const facts = statSync(path)
  if (!facts.isDirectory()) return facts.size
  return readdirSync(path).reduce((sum, entry) => sum + sizeOf(join(path, entry)), 0)
}

const temporary = mkdtempSync(join(tmpdir(), 'waggle-bundle-'))
try {
  const tarball = positionals[0] ? resolve(positionals[0]) : packWhole(join(temporary, 'release'))
  rmSync(folder, { recursive: true, force: true })
  const program = join(folder, 'node_modules/waggle')
  for (const made of [join(folder, 'bin'), program]) mkdirSync(made, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', program, '--strip-components=1'])
  const docs = join(temporary, 'docs')
  renameSync(join(program, 'docs'), docs)
  const whole = sizeOf(program)
  prune(program)
  cpSync(docs, join(program, 'docs'), { recursive: true })
  cpSync(process.execPath, join(folder, 'bin/node'))
  const licence = [
    join(dirname(process.execPath), '../LICENSE'),
    join(ROOT, 'node_modules/node/LICENSE'),
  ].find(existsSync)
  if (licence) cpSync(licence, join(folder, 'bin/LICENSE.node'))
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'waggle'), LAUNCHER)
  for (const one of ['waggle', 'bin/node']) chmodSync(join(folder, one), 0o755)
  execFileSync('tar', ['-czf', `${folder}.tar.gz`, '-C', out, name])

  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
  console.log(`${folder}.tar.gz: ${megabytes(statSync(`${folder}.tar.gz`).size)}`)
  console.log(`  Node.js ${process.version}: ${megabytes(sizeOf(join(folder, 'bin/node')))}`)
  console.log(`  all else: ${megabytes(sizeOf(program))}, of ${megabytes(whole)} that the file for npm has`)

  if (values.try) {
    const place = join(temporary, 'elsewhere')
    const home = join(temporary, 'home')
    for (const made of [place, home]) mkdirSync(made)
    execFileSync('tar', ['-xzf', `${folder}.tar.gz`, '-C', place])
    const launcher = join(place, name, 'waggle')
    // Nothing but a home, and a PATH with the system's tools: no npm, no Node.js.
    const tools = join(temporary, 'tools')
    mkdirSync(tools)
    for (const tool of ['sh', 'dirname', 'readlink']) {
      const found = ['/bin', '/usr/bin'].map((dir) => join(dir, tool)).find(existsSync)!
      writeFileSync(join(tools, basename(tool)), `#!/bin/sh\nexec ${found} "$@"\n`, { mode: 0o755 })
    }
    const at = { cwd: place, env: { HOME: home, PATH: tools } }
    run(launcher, ['--version'], at)
    run(launcher, ['doctor'], at)
    await trainAndInterrupt({ up: [launcher, 'up'], ask: [launcher, 'status', '--json'] }, at)
  }
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
