// The real program as a subprocess: what only shows there (signals, exit statuses, speed, a closed pipe).

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { boundedOutput } from '../../daemon/cli/text/bounded-output.ts'
import { peerName } from '../../protocol/text.ts'
import { OTHER } from '../control/scripted-node.ts'
import { freshHome, removeHomes } from './run-cli.ts'

afterAll(removeHomes)

const ROOT = resolve(import.meta.dirname, '../..')
const REAL = join(ROOT, 'daemon/cli/waggle.ts')
const SCRIPTED = join(ROOT, 'test/cli/scripted-waggle.ts')
const node = (...args: string[]) => [args, { cwd: ROOT, encoding: 'utf8' as const }] as const

function start(home: string) {
  const [args, options] = node(SCRIPTED, 'up', '--home', home)
  const child = spawn(process.execPath, args, options)
  let output = ''
  const ready = new Promise<void>((done) => {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (output.includes('  next ')) done()
      })
    }
  })
  const ended = new Promise<number | null>((done) => child.on('close', (status) => done(status)))
  return { child, ready, ended, output: () => output }
}

test('a running node: status answers, SIGTERM stops it gracefully, its socket is gone', async () => {
  const home = freshHome()
  const up = start(home)
  await up.ready
  const [args, options] = node(REAL, 'status', '--home', home, '--json')
  const status = spawnSync(process.execPath, args, options)
  expect(status.status).toBe(0)
  expect(JSON.parse(status.stdout)).toMatchObject({ v: 1, state: 'TRAINING' })
  up.child.kill('SIGTERM')
  expect(await up.ended).toBe(0)
  expect(up.output()).toContain('Stopping: saving a checkpoint')
  expect(existsSync(join(home, 'control.sock'))).toBe(false)
})

test('unknown flags, no daemon and broken pipes end as documented', () => {
  const run = (...argv: string[]) => {
    const [args, options] = node(REAL, ...argv)
    return spawnSync(process.execPath, args, options)
  }
  expect(run('up', '--frobnicate').status).toBe(2)
  expect(run('status', '--home', freshHome()).status).toBe(3)
  const piped = spawnSync('sh', ['-c', `"${process.execPath}" ${REAL} help config | head -1`], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([piped.stdout.trim(), piped.stderr]).toEqual(['waggle config [action] [options]', ''])
})

test('what status loads stays light: neither zod nor ink nor libp2p', () => {
  // Every file that the command reaches by static imports.
  const reached = reachable(
    join(ROOT, 'daemon/cli/commands/watch/status.ts'),
    join(ROOT, 'daemon/cli/run.ts'),
    join(ROOT, 'daemon/cli/start.ts'),
  )
  expect(reached.packages).toEqual([])
})

function reachable(...entries: string[]): { packages: string[] } {
  const seen = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    // Static imports that are more than types; `await import()` is what keeps the rest away.
    for (const [, what] of text.matchAll(/^(?:import|export)(?! type)[^'"]*?from '([^']+)'/gm)) {
      if (what!.startsWith('.')) visit(resolve(file, '..', what!))
      else if (!what!.startsWith('node:')) packages.add(what!)
    }
  }
  for (const entry of entries) visit(entry)
  return { packages: [...packages] }
}

test('a node whose output nobody takes goes on; one whose reader has left saves and stops', async () => {
  const stuck = start(freshHome())
  await stuck.ready
  stuck.child.stdout!.destroy()
  stuck.child.stderr!.destroy()
  // Steps make lines only with --json, so the next one is the 30-second status or what a signal asks for.
  stuck.child.kill('SIGUSR2')
  expect(await stuck.ended).toBe(0)
}, 40_000)

test('lines are left out while the reader takes nothing, and counted', () => {
  const written: string[] = []
  const reader = {
    writableLength: 0,
    write: (text: string) => void written.push(text),
  }
  const output = boundedOutput(reader)
  output.write('a')
  reader.writableLength = 2_000_000
  output.write('b')
  output.write('c')
  reader.writableLength = 0
  output.write('d')
  expect(written).toEqual(['a', '{"v":1,"type":"dropped","lines":2}\n', 'd'])
})

test('join --detach starts a node in the background and has it join', async () => {
  const home = freshHome()
  const run = (...argv: string[]) => {
    const [args, options] = node(SCRIPTED, ...argv, '--home', home)
    return spawnSync(process.execPath, args, options)
  }
  const joined = run('join', OTHER, '--detach')
  expect(joined.stderr).toContain('runs as process')
  expect(joined.stdout).toContain(`joined ${peerName(OTHER)}`)
  expect(joined.status).toBe(0)
  expect(run('stop').status).toBe(0)
}, 40_000)

test('on a Node.js that is too old the program says which it needs and how to get it', () => {
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } })`
  const [args, options] = node('--import', `data:text/javascript,${encodeURIComponent(old)}`, REAL, 'version')
  const { status, stderr } = spawnSync(process.execPath, args, options)
  expect(stderr).toMatch(/^error: Waggle needs Node\.js 22\.19 or newer, this is 20\.11\.0/)
  expect(stderr).toContain('npx -p node@24 waggle')
  expect(status).toBe(2)
})
