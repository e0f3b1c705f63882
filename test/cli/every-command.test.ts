// Every command, by the table: its JSON as a shape, against a real daemon, and what it says when something is wrong.
// (Help is in usage.test.ts.) A command that is added without a line here fails the first test.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takesOption } from '../../daemon/cli/context.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { EXIT } from '../../protocol/errors.ts'
import { type Daemon, killAll, startDaemon } from '../e2e/daemon.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

interface Line {
  /** Words after the name, for JSON from a running node; or why there is none. */
  json: readonly string[] | string
  /** Words that are wrong in a way of this command's own; the usual ways are tried for all. */
  wrong?: ReadonlyArray<readonly string[]>
  /** Words that it needs, for trying it with something else wrong. */
  needs?: readonly string[]
}

const PACKAGE = join(import.meta.dirname, '../../package.json')
const STRANGER = '12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X'

const LINES: Record<string, Line> = {
  up: {
    json: 'does not end; its JSON is the event stream',
    wrong: [
      ['--log-format', 'xml'],
      ['--preset', 'tny'],
    ],
  },
  join: {
    json: 'needs a second node; test/e2e/together.test.ts',
    needs: [STRANGER],
    wrong: [[], ['somebody']],
  },
  relay: { json: 'does not end; its JSON is the event stream' },
  stop: { json: ['--no-checkpoint'] },
  restart: { json: 'starts another process; test/e2e', wrong: [['--set', 'x']] },
  status: { json: [] },
  top: { json: 'is a screen', wrong: [[], ['--interval', '10'], ['--replay', '/nonexistent']] },
  peers: { json: [], wrong: [['list', 'a', 'b'], ['mute'], ['mute', 'nobody'], ['mut', 'x']] },
  rollouts: { json: ['-n', '1'], wrong: [['-n', '0']] },
  conversations: {
    json: [],
    wrong: [['list', 'x'], ['show'], ['rate', 'x'], ['rate', 'x', '2'], ['delete'], ['delete', 'x', '--all']],
  },
  plugins: { json: [], wrong: [['lst'], ['new', 'hint'], ['new', 'hnit', 'x'], ['add'], ['list', 'x']] },
  logs: {
    json: ['-n', '1'],
    wrong: [
      ['--level', 'wran'],
      ['-n', 'x'],
    ],
  },
  events: { json: ['--no-follow', '--type', 'state'], wrong: [['--since', 'x']] },
  audit: { json: 'needs swarm.audits; test/e2e/heads.test.ts', wrong: [[], ['nobody']] },
  eval: {
    json: ['--prompts', '1', '--task', 'base_conversion'],
    wrong: [
      ['--prompts', '0'],
      ['--task', 'nope'],
    ],
  },
  pause: { json: [] },
  resume: { json: [] },
  checkpoint: { json: [] },
  invite: { json: [] },
  'send-file': { json: [PACKAGE], needs: [PACKAGE], wrong: [[], ['/nonexistent/file']] },
  'get-file': {
    json: 'needs a second node; test/control/file-sharing.test.ts',
    needs: ['x', 'y'],
    wrong: [[], ['x', 'y']],
  },
  set: {
    json: ['training.learning_rate=2e-4'],
    needs: ['a=1'],
    wrong: [[], ['x'], ['training.lerning_rate=1'], ['swarm.lan=open'], ['training.learning_rate=-1']],
  },
  reload: { json: [] },
  leave: { json: [] },
  serve: { json: 'does not end; test/cli/serve.test.ts', wrong: [['/nonexistent/model']] },
  score: { json: ['base_conversion'], wrong: [['base_conversoin'], ['base_conversion', '--seed', 'x']] },
  generate: {
    json: ['1 + 1 =', '--max-tokens', '2'],
    needs: ['x'],
    wrong: [[], ['x', '--temperature', 'hot']],
  },
  chat: { json: 'is a talk', wrong: [['--max-tokens', 'x']] },
  export: {
    json: 'writes CSV, JSON lines or files',
    needs: ['run'],
    wrong: [[], ['rnu'], ['run', '--format', 'xml']],
  },
  model: { json: ['list'], needs: ['list'], wrong: [[], ['pul']] },
  recipes: { json: [], wrong: [['sortin']] },
  init: { json: ['--force'], wrong: [['--preset', 'tinny']] },
  config: {
    json: ['show', '--origin'],
    wrong: [['chek'], ['show', '--set', 'x'], ['check', '--set', 'x=1']],
  },
  backup: { json: 'writes a file; test/store/backup.test.ts', wrong: [['/nonexistent/a.tar']] },
  restore: {
    json: 'fills a home; test/store/backup.test.ts',
    needs: ['a.tar'],
    wrong: [[], ['/nonexistent/a.tar']],
  },
  device: { json: [], wrong: [['lst'], ['install'], ['install', 'dml']] },
  doctor: { json: ['--no-swarm'] },
  env: { json: [] },
  completion: { json: 'writes a script', needs: ['bash'], wrong: [[], ['bsh']] },
  schema: { json: 'is a JSON document itself', needs: ['config'], wrong: [[], ['confg']] },
  help: { json: ['exit'], wrong: [['stauts'], ['E_PERR']] },
  version: { json: [] },
}

test('every command has its line here, and every line is a command', () => {
  expect(Object.keys(LINES).sort()).toEqual(COMMANDS.map(({ name }) => name).sort())
})

let daemon: Daemon
beforeAll(async () => {
  daemon = await startDaemon(freshHome(), {
    settings: ['swarm.lan=off', 'swarm.listen=/ip4/127.0.0.1/tcp/0'],
  })
  await daemon.until(
    'it had made groups',
    ({ rollouts, training }) => (rollouts?.generated ?? 0) > 0 && (training?.step ?? 0) > 0,
  )
}, 120_000)
afterAll(killAll)

/** Names and kinds, as deep as what is always there: deeper down, a node leaves out what it does not know yet. */
function shapeOf(value: unknown, deep: number): unknown {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value !== 'object') return typeof value
  if (deep === 0) return 'table'
  const entries = Object.entries(value).filter(([key]) => !SOMETIMES.has(key))
  return Object.fromEntries(entries.sort().map(([key, inner]) => [key, shapeOf(inner, deep - 1)]))
}
/** Depends on the moment, or on who else is there. */
const SOMETIMES = new Set(['sharing', 'checkpoint', 'detail', 'greedy', 'bytes'])
/** Events and log lines are of many shapes; this is what all have. */
const ENVELOPE = ['v', 'id', 'time', 'type']

describe('errors say what is wrong and what to do, with the documented status', () => {
  const home = freshHome()
  const said = async (...argv: string[]) => {
    const { status, stdout, stderr } = await waggle([...argv])
    expect(stdout).toBe('')
    expect(stderr).not.toMatch(/\n {4}at /)
    expect([2, 3, 4, 5, 7]).toContain(status)
    return `exit ${status}\n${stderr.replaceAll(home, 'HOME').replaceAll(daemon.home, 'DAEMON')}`
  }
  const names = COMMANDS.map(({ name }) => name)
  const usage = (name: string, error: string): string =>
    `exit 2\nerror: ${error}\n  try   \`waggle help ${name}\` explains the command.\n` +
    '  E_USAGE   see `waggle help E_USAGE`\n'

  test.each(names)('%s: an option that does not exist', async (name) => {
    expect(await said(name, ...(LINES[name]!.needs ?? []), '--jsno', '--home', home)).toBe(
      usage(name, 'there is no option --jsno. Did you mean "--json"?'),
    )
  })

  test.each(names.filter((name) => !COMMANDS.find((c) => c.name === name)!.arguments?.at(-1)?.repeat))(
    '%s: a word too many',
    async (name) => {
      const many = COMMANDS.find((command) => command.name === name)!.arguments?.length ?? 0
      const given = [...(LINES[name]!.needs ?? [])]
      const choices = COMMANDS.find((command) => command.name === name)!.arguments?.[0]?.choices
      while (given.length < many) given.push(given.length === 0 && choices ? choices[0]! : 'x')
      expect(await said(name, ...given, 'surplus', '--home', home)).toBe(
        usage(name, `${name} takes no argument "surplus"`),
      )
    },
  )

  test.each(
    COMMANDS.filter(({ name, options = [] }) => name !== 'top' && options.some((o) => o.name === 'on')).map(
      ({ name }) => name,
    ),
  )('%s: no daemon', async (name) => {
    const json = LINES[name]!.json
    const words = LINES[name]!.needs ?? (typeof json === 'string' ? [] : json)
    expect(await said(name, ...words, '--on', 'unix:///nonexistent/c.sock')).toMatch(
      /^exit 3\nerror: no daemon is running \(nothing answers on \/nonexistent\/c.sock\)\n {2}try {3}Start one with `waggle up`;/,
    )
  })

  const own = Object.entries(LINES).flatMap(([name, { wrong = [] }]) =>
    wrong.map((words) => [name, words.join(' '), words] as const),
  )
  test.each(own)('%s %s', async (name, _shown, words) => {
    const asks = takesOption(COMMANDS.find((command) => command.name === name)!, 'on')
    expect(await said(name, ...words, '--home', asks ? daemon.home : home)).toMatchSnapshot()
  })
})

describe('JSON from a running node', () => {
  const reading = Object.entries(LINES).flatMap(([name, { json }]) =>
    typeof json === 'string' ? [] : [[name, json] as const],
  )
  // The node is stopped by the last one.
  const order = [
    ...reading.filter(([name]) => name !== 'stop'),
    ...reading.filter(([name]) => name === 'stop'),
  ]

  test.each(order)(
    '%s',
    async (name, words) => {
      const { status, stdout, stderr } = await waggle([name, ...words, '--json', '--home', daemon.home])
      expect(stderr).not.toContain('error')
      const objects = stdout
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as { v: number; findings?: { level: string }[] })
      // A doctor says by its status whether a check failed; on this machine one may.
      const isIll = objects[0]?.findings?.some(({ level }) => level === 'fail') ?? false
      expect(status).toBe(isIll ? EXIT.doctor : EXIT.ok)
      for (const object of objects) expect(object.v).toBe(1)
      if (name === 'logs' || name === 'events')
        expect(Object.keys(objects[0]!)).toEqual(expect.arrayContaining(ENVELOPE))
      else expect(shapeOf(objects[0], 1)).toMatchSnapshot()
    },
    60_000,
  )
})
