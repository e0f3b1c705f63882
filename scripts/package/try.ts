// Packs Waggle as npm would publish it and tries the package as a new user would: in an empty folder, with an empty
// home, `npx`, and dependencies from the npm registry. Fails if any step that a user takes fails.
//
//   node --import tsx scripts/package/try.ts [FILE.tgz]      (packs this checkout if no file is given; about a minute)

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Snapshot } from '../../protocol/api/index.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const STEP_WITHIN_MS = 120_000

const { positionals } = parseArgs({ allowPositionals: true })
const place = mkdtempSync(join(tmpdir(), 'waggle-package-'))
const [home, folder] = [join(place, 'home'), join(place, 'empty')]
mkdirSync(home)
mkdirSync(folder)

/** A user's environment: no trace of this checkout, nor of the Node.js in its node_modules. */
const env = {
  HOME: home,
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => !dir.includes('node_modules'))
    .join(delimiter),
  // On Linux with x64 the package would download CUDA files (hundreds of megabytes) from outside the
  // registry.
  ONNXRUNTIME_NODE_INSTALL: 'skip',
}

function run(command: string, args: readonly string[], cwd = folder): string {
  const begun = performance.now()
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'}  ${seconds.padStart(5)} s  ${[command, ...args].join(' ')}`)
  if (status !== 0) throw new Error(`status ${status}\n${stdout}\n${stderr}\n${error ?? ''}`)
  return stdout
}

function pack(): string {
  run('npm', ['pack', '--silent', '--pack-destination', place], ROOT)
  return join(place, readdirSync(place).find((name) => name.endsWith('.tgz'))!)
}

/** Starts a node, waits until it has trained a step, and stops it. */
async function train(npx: readonly string[]): Promise<void> {
  const begun = performance.now()
  const child = spawn('npx', [...npx, 'up'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const ended = new Promise<number | null>((done) => child.once('exit', done))
  try {
    for (;;) {
      const { status, stdout } = spawnSync('npx', [...npx, 'status', '--json'], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      const step = status === 0 ? ((JSON.parse(stdout) as Snapshot).training?.step ?? 0) : 0
      if (step > 0) break
      if (child.exitCode !== null || performance.now() - begun > STEP_WITHIN_MS)
        throw new Error(`no training step\n${output}`)
      await sleep(500)
    }
    console.log(`ok    ${((performance.now() - begun) / 1000).toFixed(1).padStart(5)} s  a training step`)
    run('npx', [...npx, 'stop'])
    const status = await ended
    if (status !== 0) throw new Error(`up ended with ${status}\n${output}`)
  } finally {
    child.kill('SIGTERM')
  }
}

try {
  const tarball = positionals[0] ? resolve(positionals[0]) : pack()
  const { version, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
    engines: { node: string }
  }
  const has = run('node', ['--version']).trim()
  const [wants, is] = [engines.node, has].map((text) => text.match(/\d+/g)!.map(Number))
  const old = is![0]! < wants![0]! || (is![0] === wants![0] && is![1]! < wants![1]!)
  if (old) console.log(`      Node.js is ${has}, which is older than ${engines.node}: npx brings node@24`)
  const npx = ['--yes', ...(old ? ['--package=node@24'] : []), `--package=${tarball}`, 'waggle']
  const said = run('npx', [...npx, '--version'])
  if (!said.includes(version)) throw new Error(`--version prints ${said}, but package.json has ${version}`)
  run('npx', [...npx, 'doctor'])
  run('npx', [...npx, 'plugins', 'new', 'control', 'patience'])
  // TypeScript, with no compiler at hand.
  run('npx', [...npx, 'plugins', 'check', 'patience/patience.ts'])
  await train(npx)
  run('npx', [...npx, 'export', 'model', './trained'])
  console.log(`ok            ${readdirSync(join(folder, 'trained')).length} files in ./trained`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
