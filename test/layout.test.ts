// Who may import whom. Reads every source file and compares each import with the table.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Room -> rooms that it may import from. The longest prefix of a path decides its room. `main` may import all. */
const ALLOWED: Record<string, readonly string[]> = {
  protocol: ['protocol'],
  plugins: ['protocol', 'plugins'],
  tui: ['protocol', 'tui'],
  'daemon/engine': ['protocol', 'daemon/engine'],
  'daemon/store': ['protocol', 'daemon/store'],
  'daemon/config': ['protocol', 'daemon/config'],
  'daemon/host': ['protocol', 'daemon/host'],
  'daemon/swarm': ['protocol', 'daemon/swarm'],
  'daemon/policy': ['protocol', 'daemon/policy', 'daemon/engine', 'daemon/store'],
  'daemon/rollout': ['protocol', 'daemon/rollout', 'daemon/policy', 'daemon/engine', 'daemon/host'],
  'daemon/trainer': [
    'protocol',
    'daemon/trainer',
    'daemon/policy',
    'daemon/engine',
    'daemon/host',
    'daemon/store',
  ],
  // What the composition roots put together: as they, it may know all parts.
  'daemon/node': ['protocol', 'daemon'],
  // Only types: what it answers about is given to it.
  'daemon/control': [
    'protocol',
    'daemon/control',
    'daemon/config',
    'daemon/engine',
    'daemon/host',
    'daemon/policy',
    'daemon/store',
    'daemon/swarm',
    'daemon/trainer',
  ],
  // Tries the engine on the model, as a node does when it starts.
  'daemon/cli/doctor': [
    'protocol',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/built-in.ts',
    'daemon/engine',
    'daemon/policy',
    'daemon/store',
  ],
  // Tries devices, without a node.
  'daemon/cli/device': ['protocol', 'daemon/cli', 'daemon/engine'],
  // Loads plugins and looks at them, without a node.
  'daemon/cli/plugins': [
    'protocol',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/host',
    'daemon/built-in.ts',
    'daemon/plugin-config.ts',
  ],
  // Looks at what a model does, without a node.
  'daemon/cli/model': [
    'protocol',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/engine',
    'daemon/policy',
    'daemon/store',
  ],
  'daemon/cli': [
    'protocol',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/main.ts',
    'daemon/relay.ts',
    'daemon/built-in.ts',
    'tui',
  ],
}

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
}

function roomOf(path: string): string | undefined {
  return Object.keys(ALLOWED)
    .filter((room) => path === room || path.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0]
}

interface Import {
  from: string
  to: string
  typeOnly: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found: Import[] = []
  for (const match of text.matchAll(/(?:^|\n)\s*(import|export)\s+(type\s)?[^'"]*?from\s+'(\.[^']+)'/g)) {
    const to = relative(ROOT, resolve(ROOT, dirname(file), match[3]!))
    found.push({ from: file, to, typeOnly: match[2] !== undefined })
  }
  for (const match of text.matchAll(/import\(\s*'(\.[^']+)'\s*\)/g)) {
    found.push({ from: file, to: relative(ROOT, resolve(ROOT, dirname(file), match[1]!)), typeOnly: false })
  }
  return found
}

const FILES = ['protocol', 'plugins', 'tui', 'daemon'].flatMap(sources)
const IMPORTS = FILES.flatMap(importsOf)

test('imports follow the rule of the layout', () => {
  const wrong = IMPORTS.filter(({ from, to }) => {
    const room = roomOf(from)
    if (room === undefined) return false
    return !ALLOWED[room]!.some((allowed) => to === allowed || to.startsWith(`${allowed}/`))
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('every source file in daemon is in a room, except the composition root and what it puts in', () => {
  expect(FILES.filter((file) => file.startsWith('daemon/') && roomOf(file) === undefined).sort()).toEqual([
    'daemon/built-in.ts',
    'daemon/dataset-files.ts',
    'daemon/datasets.ts',
    'daemon/loops.ts',
    'daemon/main.ts',
    'daemon/node-plugins.ts',
    'daemon/plugin-config.ts',
    'daemon/relay.ts',
    'daemon/swarm-config.ts',
  ])
})

test('the control room knows the other parts of the node by their types only', () => {
  const wrong = IMPORTS.filter(
    ({ from, to, typeOnly }) =>
      roomOf(from) === 'daemon/control' &&
      /^daemon\/(engine|host|policy|store|swarm|trainer)\//.test(to) &&
      !typeOnly,
  )
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('the terminal UI is loaded by one command, when it is asked for', () => {
  const users = IMPORTS.filter(({ from, to }) => to.startsWith('tui/') && !from.startsWith('tui/'))
  expect(users.every(({ from }) => from.startsWith('daemon/cli/'))).toBe(true)
  const statically = readFileSync(join(ROOT, 'daemon/cli/waggle.ts'), 'utf8')
  expect(statically).not.toMatch(/tui\//)
})

test('nothing asks the clock or chance directly outside the composition roots', () => {
  const roots = /^(daemon\/(main|relay)\.ts|daemon\/cli\/(start|waggle)\.ts|tui\/main\.tsx?)$/
  const offenders = FILES.filter((file) => !roots.test(file)).filter((file) =>
    /\bDate\.now\(\)|\bMath\.random\(\)|\bnew Date\(\)/.test(
      readFileSync(join(ROOT, file), 'utf8').replace(/\/\/.*|\/\*[\s\S]*?\*\//g, ''),
    ),
  )
  expect(offenders).toEqual([])
})

test('imports name files with their extension', () => {
  expect(
    IMPORTS.filter(({ to }) => !/\.(ts|tsx|json)$/.test(to)).map(({ from, to }) => `${from}: ${to}`),
  ).toEqual([])
})
