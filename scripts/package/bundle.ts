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
import { pack, ROOT, run, trainAndInterrupt, userEnv } from './packed.ts'

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

/** What is read by people, compilers and debuggers only. */
const UNUSED = /\.(map|[cm]?tsx?|md|markdown|flow|tsbuildinfo)$/i
const UNUSED_FOLDERS = new Set(['test', 'tests', '__tests__', '.github', 'umd'])

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

/** Removes what the program never reads; keeps licences. */
function prune(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (UNUSED_FOLDERS.has(entry.name) && !existsSync(join(inner, 'package.json')))
        rmSync(inner, { recursive: true })
      else prune(inner)
    } else if (UNUSED.test(entry.name) && !/licen[cs]e|notice/i.test(entry.name)) rmSync(inner)
  }
}

/** Native libraries of other platforms. */
function pruneNative(modules: string): void {
  const here = [process.platform, process.arch] as const
  const runtimes = join(modules, 'onnxruntime-node/bin')
  for (const api of readdirSync(runtimes))
    for (const platform of readdirSync(join(runtimes, api)))
      for (const arch of readdirSync(join(runtimes, api, platform)))
        if (platform !== here[0] || arch !== here[1])
          rmSync(join(runtimes, api, platform, arch), { recursive: true })
  const prebuilds = join(modules, 'classic-level/prebuilds')
  for (const platform of readdirSync(prebuilds))
    if (platform !== here.join('-')) rmSync(join(prebuilds, platform), { recursive: true })
  rmSync(join(modules, 'classic-level/deps'), { recursive: true, force: true })
}

const temporary = mkdtempSync(join(tmpdir(), 'waggle-bundle-'))
try {
  const tarball = positionals[0] ? resolve(positionals[0]) : pack(temporary)
  writeFileSync(join(temporary, 'package.json'), '{ "name": "bundle", "private": true }\n')
  const install = ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline']
  run('npm', [...install, '--loglevel=error', tarball], {
    cwd: temporary,
    env: userEnv(),
  })
  const modules = join(temporary, 'node_modules')
  const whole = sizeOf(modules)
  const docs = join(modules, 'waggle/docs')
  const kept = join(temporary, 'docs')
  renameSync(docs, kept)
  pruneNative(modules)
  prune(modules)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'bin'), { recursive: true })
  cpSync(modules, join(folder, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  cpSync(kept, join(folder, 'node_modules/waggle/docs'), { recursive: true })
  cpSync(process.execPath, join(folder, 'bin/node'))
  const licence = [
    join(dirname(process.execPath), '../LICENSE'),
    join(ROOT, 'node_modules/node/LICENSE'),
  ].find(existsSync)
  if (licence) cpSync(licence, join(folder, 'bin/LICENSE.node'))
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'waggle'), LAUNCHER)
  for (const program of ['waggle', 'bin/node']) chmodSync(join(folder, program), 0o755)
  execFileSync('tar', ['-czf', `${folder}.tar.gz`, '-C', out, name])

  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
  console.log(`${folder}.tar.gz: ${megabytes(statSync(`${folder}.tar.gz`).size)}`)
  console.log(`  Node.js ${process.version}: ${megabytes(sizeOf(join(folder, 'bin/node')))}`)
  console.log(
    `  all else: ${megabytes(sizeOf(join(folder, 'node_modules')))}, of ${megabytes(whole)} that npm installs`,
  )
  const packages = readdirSync(join(folder, 'node_modules')).map(
    (one) => [one, sizeOf(join(folder, 'node_modules', one))] as const,
  )
  for (const [one, bytes] of packages.sort((a, b) => b[1] - a[1]).slice(0, 8))
    console.log(`    ${one}: ${megabytes(bytes)}`)

  if (values.try) {
    const place = join(temporary, 'elsewhere')
    const home = join(temporary, 'home')
    for (const made of [place, home]) mkdirSync(made)
    execFileSync('tar', ['-xzf', `${folder}.tar.gz`, '-C', place])
    const program = join(place, name, 'waggle')
    // Nothing but a home, and a PATH with the system's tools: no npm, no Node.js.
    const tools = join(temporary, 'tools')
    mkdirSync(tools)
    for (const tool of ['sh', 'dirname', 'readlink']) {
      const found = ['/bin', '/usr/bin'].map((dir) => join(dir, tool)).find(existsSync)!
      writeFileSync(join(tools, basename(tool)), `#!/bin/sh\nexec ${found} "$@"\n`, { mode: 0o755 })
    }
    const at = { cwd: place, env: { HOME: home, PATH: tools } }
    run(program, ['--version'], at)
    run(program, ['doctor'], at)
    await trainAndInterrupt({ up: [program, 'up'], ask: [program, 'status', '--json'] }, at)
  }
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
