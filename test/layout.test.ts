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
  'daemon/platform': ['protocol', 'daemon/platform'],
  tui: ['protocol', 'tui'],
  // What the HTTP servers share.
  'daemon/http': ['protocol', 'daemon/http'],
  'daemon/engine': ['protocol', 'daemon/engine', 'daemon/platform/onnxruntime.ts'],
  'daemon/store': ['protocol', 'daemon/store', 'daemon/platform'],
  'daemon/config': ['protocol', 'daemon/config', 'daemon/platform', 'daemon/trainer/aggregation.ts'],
  'daemon/limits': ['protocol', 'daemon/limits', 'daemon/platform', 'daemon/config'],
  'daemon/host': ['protocol', 'daemon/host'],
  'daemon/swarm': ['protocol', 'daemon/swarm', 'daemon/platform'],
  'daemon/policy': ['protocol', 'daemon/policy', 'daemon/engine', 'daemon/store', 'daemon/host/random.ts'],
  // Samplers outside the engines.
  'daemon/sampler': ['protocol', 'daemon/sampler', 'daemon/engine', 'daemon/policy', 'daemon/store'],
  'daemon/rollout': ['protocol', 'daemon/rollout', 'daemon/policy', 'daemon/engine', 'daemon/host'],
  'daemon/trainer': [
    'protocol',
    'daemon/trainer',
    'daemon/policy',
    'daemon/engine',
    'daemon/host',
    'daemon/store',
  ],
  // Speaks with agents: reaches the node by the parts that it is given.
  'daemon/agents': [
    'protocol',
    'daemon/agents',
    'daemon/engine',
    'daemon/http',
    'daemon/policy',
    'daemon/rollout',
  ],
  // A program's own loop over the library, by Tinker's client.
  'daemon/agents/tinker': [
    'protocol',
    'daemon/agents',
    'daemon/engine',
    'daemon/host/random.ts',
    'daemon/http',
    'daemon/library',
    'daemon/policy',
  ],
  // Decides; imports what it decides with, and no loop, clock or socket.
  'daemon/core': ['protocol', 'daemon/core', 'daemon/store', 'daemon/trainer'],
  // What the composition roots put together: as they, it may know all parts.
  'daemon/node': ['protocol', 'daemon'],
  // Only types: what it answers about is given to it.
  'daemon/control': [
    'protocol',
    'daemon/control',
    'daemon/http',
    'daemon/platform',
    'daemon/config',
    'daemon/engine',
    'daemon/host',
    'daemon/policy',
    'daemon/store',
    'daemon/swarm',
    'daemon/trainer',
  ],
  // What programs import: parts of a node without its loops, its network and its config.
  'daemon/library': [
    'protocol',
    'plugins',
    'daemon/library',
    'daemon/core',
    'daemon/engine',
    'daemon/host',
    'daemon/platform',
    'daemon/policy',
    'daemon/rollout',
    'daemon/store',
    'daemon/trainer',
    'daemon/wiring/built-in.ts',
  ],
  // From the config to what the parts take.
  'daemon/wiring': [
    'daemon/agents',
    'protocol',
    'plugins',
    'daemon/wiring',
    'daemon/config',
    'daemon/engine',
    'daemon/host',
    'daemon/policy',
    'daemon/rollout',
    'daemon/sampler',
    'daemon/store',
    'daemon/swarm',
    'daemon/trainer',
  ],
  // Looks at all that a config names, without a node.
  'daemon/cli/check': [
    'protocol',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/host',
    'daemon/http',
    'daemon/wiring',
    'daemon/engine',
    'daemon/rollout',
    'daemon/swarm',
  ],
  // Tries the engine on the model, as a node does when it starts.
  'daemon/cli/doctor': [
    'protocol',
    'daemon/platform',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/wiring',
    'daemon/engine',
    'daemon/limits',
    'daemon/policy',
    'daemon/store',
  ],
  // Tries devices, without a node.
  'daemon/cli/device': ['protocol', 'daemon/cli', 'daemon/engine', 'daemon/platform'],
  // Loads plugins and looks at them, without a node.
  'daemon/cli/plugins': [
    'protocol',
    'daemon/platform',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/host',
    'daemon/wiring',
  ],
  // Looks at what a model does, and serves it, without a node.
  'daemon/cli/model': [
    'protocol',
    'daemon/agents',
    'daemon/http',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/engine',
    'daemon/library',
    'daemon/platform',
    'daemon/policy',
    'daemon/store',
    'daemon/wiring',
  ],
  // A home's files, without a node.
  'daemon/cli/home': ['protocol', 'daemon/cli', 'daemon/platform', 'daemon/store'],
  // Prints the contracts of the parts that have one.
  'daemon/cli/schema': [
    'protocol',
    'daemon/agents',
    'daemon/cli',
    'daemon/config',
    'daemon/control',
    'daemon/platform',
  ],
  'daemon/cli': [
    'protocol',
    'daemon/cli',
    'daemon/platform',
    'daemon/config',
    'daemon/control',
    'daemon/main.ts',
    'daemon/relay.ts',
    'daemon/node/start/start.ts',
    'daemon/wiring',
    'tui',
  ],
  // Experiments. They know all parts of a node, and nothing of a node knows them.
  'scripts/lab': ['protocol', 'plugins', 'daemon', 'scripts/lab', 'scripts/agents', 'scripts/default-model'],
  // What every experiment stands on knows none of them, and no node.
  'scripts/lab/frame': ['scripts/lab/frame'],
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

/** Groups of files that import one another (Tarjan's strongly connected components). */
function circlesOf(files: readonly string[], imports: readonly Import[]): string[][] {
  const targets = Map.groupBy(imports, ({ from }) => from)
  const number = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  const visit = (file: string): number => {
    number.set(file, number.size)
    lowest.set(file, number.get(file)!)
    open.push(file)
    for (const { to } of targets.get(file) ?? []) {
      const seen = number.get(to)
      if (to === file) circles.push([file])
      if (seen !== undefined && !open.includes(to)) continue
      lowest.set(file, Math.min(lowest.get(file)!, seen ?? visit(to)))
    }
    if (lowest.get(file) === number.get(file)) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) circles.push(circle.sort())
    }
    return lowest.get(file)!
  }
  for (const file of files) if (!number.has(file)) visit(file)
  return circles
}

const FILES = ['protocol', 'plugins', 'tui', 'daemon'].flatMap(sources)
const IMPORTS = FILES.flatMap(importsOf)
const LAB = sources('scripts/lab').flatMap(importsOf)

test('imports follow the rule of the layout', () => {
  const wrong = [...IMPORTS, ...LAB].filter(({ from, to }) => {
    const room = roomOf(from)
    if (room === undefined) return false
    return !ALLOWED[room]!.some((allowed) => to === allowed || to.startsWith(`${allowed}/`))
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('every source file in daemon is in a room, except the two composition roots', () => {
  expect(FILES.filter((file) => file.startsWith('daemon/') && roomOf(file) === undefined).sort()).toEqual([
    'daemon/main.ts',
    'daemon/relay.ts',
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

/** Time limits of HTTP calls outside the swarm. */
const OWN_LIMIT = [
  'daemon/control/node/swarm-control.ts',
  'daemon/engine/devices/install/nuget.ts',
  'daemon/sampler/http/server.ts',
]

test('time limits go by the clock that is passed in', () => {
  const offenders = FILES.filter((file) =>
    readFileSync(join(ROOT, file), 'utf8').includes('AbortSignal.timeout('),
  )
  expect(offenders.sort()).toEqual(OWN_LIMIT)
})

test('nothing asks the clock or chance directly outside the composition roots', () => {
  const roots = /^(daemon\/(main|relay)\.ts|daemon\/cli\/(start|waggle)\.ts|tui\/main\.ts)$/
  const offenders = FILES.filter((file) => !roots.test(file)).filter((file) =>
    /\bDate\.now\(\)|\bMath\.random\(\)|\bnew Date\(\)/.test(
      readFileSync(join(ROOT, file), 'utf8').replace(/\/\/.*|\/\*[\s\S]*?\*\//g, ''),
    ),
  )
  expect(offenders).toEqual([])
})

test('no file imports itself, by however many others, for types neither', () => {
  expect(circlesOf(FILES, IMPORTS)).toEqual([])
})

/** Folders in which a file is one entry of a list, so that their number says nothing. */
const LISTS = new Map([['daemon/cli/commands', 'one file for each command']])

test('no folder has more files than can be taken in at a glance', () => {
  const files = Map.groupBy([...FILES, ...sources('scripts')], (file) => dirname(file))
  const crowded = [...files].filter(([folder, { length }]) => length > 15 && !LISTS.has(folder))
  expect(crowded.map(([folder, { length }]) => `${folder}: ${length} files`)).toEqual([])
})

test('imports name files with their extension', () => {
  expect(
    IMPORTS.filter(({ to }) => !/\.(ts|json)$/.test(to)).map(({ from, to }) => `${from}: ${to}`),
  ).toEqual([])
})

test('only test files register hooks: a process runs many files, and loads a helper once', () => {
  const helpers = sources('test').filter((file) => !/\.test\.ts$/.test(file))
  const offenders = helpers.filter((file) =>
    /^(before|after)(Each|All)\(/m.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(helpers.length).toBeGreaterThan(0)
  expect(offenders).toEqual([])
})
