// A task or an environment from a file: that it is asked and scored, what is refused before a node starts, and what a
// failure costs afterwards.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadConfig } from '../../daemon/config/load.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { loadTasks } from '../../daemon/wiring/datasets.ts'
import type { WaggleError } from '../../protocol/errors.ts'
import { replay, type Task, TURN_MARK } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

const GENERATE = `({ seed }) => {
  const n = 2 * seed + (seed >= 0x80000000 ? 1 : 0)
  return { question: n + ' + 2 = ?', key: String(n + 2), steps: [], data: n }
}`
const VERIFY = `({ key }, text) => ({ score: text.includes(key) ? 1 : 0, answer: text, found: 'last-line' })`
const LEVELS = `{ min: 0, max: 1, default: 0, describe: (level) => 'level ' + level }`

/** Parts of a file with a task; the others are those of sums. */
interface Parts {
  whole?: string
  extra?: string
  name?: string
  version?: string
  levels?: string
  generate?: string
  verify?: string
}

function fileOf({ whole, extra = '', ...parts }: Parts): string {
  const { name = 'mine', version = '1', levels = LEVELS, generate = GENERATE, verify = VERIFY } = parts
  return (
    whole ??
    `${extra}
export default { name: '${name}', kind: 'task', api: 1, summary: 'Mine.', version: ${version},
  difficulty: ${levels}, generate: ${generate}, verify: ${verify} }
`
  )
}

async function load(parts: Parts = {}, { trouble = [] as string[], more = '' } = {}): Promise<Task> {
  const folder = mkdtempSync(join(tmpdir(), 'waggle-task-'))
  folders.push(folder)
  writeFileSync(join(folder, 'mine.ts'), fileOf(parts))
  const file = join(folder, 'config.toml')
  writeFileSync(file, `[[tasks]]\nname = "mine"\nuse = "./mine.ts"\n${more}`)
  const { config } = loadConfig({ file, env: {}, cwd: '/elsewhere', homedir: '/home/ada' })
  const tasks = await loadTasks(config.tasks, { onTrouble: ({ message }) => trouble.push(message) })
  return createTaskBook(tasks, config.tasks).chosen[0]!.task
}

test('it is asked and scored like any other', async () => {
  const task = await load()
  const instance = task.generate({ seed: 3, difficulty: 0 })
  expect(instance).toMatchObject({ question: '6 + 2 = ?', key: '8' })
  expect([task.verify(instance, '8').score, task.verify(instance, 'x').score]).toEqual([1, 0])
  expect(task.generate({ seed: HELD_OUT_SEED, difficulty: 0 }).question).toMatch(/^4294967297 /)
})

test('its contents and its version make the version, so that only nodes with the same file share', async () => {
  const { version } = await load()
  expect((await load()).version).toBe(version)
  expect((await load({ version: '2' })).version).not.toBe(version)
  expect((await load({ extra: '// a comment' })).version).not.toBe(version)
  expect(version).toBeLessThanOrEqual(0xffff_ffff)
})

const environmentWith = (step: string): string => `const step = ${step}
export default { name: 'mine', kind: 'task', api: 1, summary: 'Count.', version: 1, difficulty: ${LEVELS},
  generate: ${GENERATE}, verify: ${VERIFY}, environment: { reset: () => 0, step, key: String } }
`
const COUNTER = environmentWith(`(at, answer) => {
  if (answer === 'boom') throw new Error('it broke')
  if (answer === 'odd') return { state: at, observation: 'x', reward: 5, done: false }
  return { state: at + 1, observation: String(at + 1), reward: 0.5, done: at === 1 }
}`)

const LENGTH = `(at, answer) => ({ state: at + answer.length, observation: 'x', reward: 0, done: true })`
test.each([
  ['gives no observation', LENGTH.replace("'x'", 'undefined'), /gave no `observation`/],
  ['gives too high a reward', LENGTH.replace('reward: 0', 'reward: 2'), /gave no `reward` from -1 to 1/],
  ['is random', LENGTH.replace('at +', 'Math.random() +'), /`step` gives two outcomes of one answer/],
  ['throws', '() => { throw new Error("no ice") }', /no ice, with seed 0 at difficulty 0/],
])('an environment whose step %s is refused before the node starts', async (_, step, message) => {
  await expect(load({ whole: environmentWith(step) })).rejects.toThrow(message)
})

test('an environment from a file is played, and an answer on which it fails ends the episode', async () => {
  const trouble: string[] = []
  const task = await load({ whole: COUNTER }, { trouble })
  const instance = task.generate({ seed: 1, difficulty: 0 })
  expect(replay(task.environment!, instance, ['up', 'up'].join(TURN_MARK))).toMatchObject({
    score: 1,
    done: true,
  })
  expect(trouble).toEqual([])
  const play = replay(task.environment!, instance, ['up', 'boom'].join(TURN_MARK))
  expect(play).toMatchObject({ done: true, score: 0.5 })
  expect(replay(task.environment!, instance, 'odd')).toMatchObject({ done: true, score: 0 })
  expect(trouble).toEqual([
    expect.stringMatching(/it broke/),
    expect.stringMatching(/no `reward` from -1 to 1/),
  ])
})

test.each<[string, Parts, RegExp]>([
  ['is not code', { whole: 'export default {' }, /mine\.ts {2}cannot be loaded: /],
  ['exports nothing', { whole: 'export const x = 1' }, /no task as its default export/],
  ['is a verifier', { whole: "export default { kind: 'verifier', score() {} }" }, /no task as its default/],
  ['has another name', { name: 'other' }, /has the task "other"; use that name in the config/],
  ['imports another file', { extra: "import { x } from './x.ts'" }, /a task must be a single file/],
  ['has no levels', { levels: '{}' }, /`difficulty` needs whole numbers/],
  ['has no version', { version: '1.5' }, /`version` must be a whole number/],
  ['throws', { generate: '() => { throw new Error("no luck") }' }, /no luck, with seed 0 at difficulty 0/],
  ['generates nothing', { generate: '() => undefined' }, /generates nothing, with seed 0/],
  ['has no question', { generate: '() => ({ question: "", key: "1", steps: [] })' }, /no `question`/],
  ['has no key', { generate: '() => ({ question: "a", steps: [] })' }, /no `key`/],
  [
    'is random',
    { extra: 'let n = 0', generate: '() => ({ question: String(n++), key: "1", steps: [] })' },
    /two different prompts/,
  ],
  [
    'evaluates on what it trains on',
    { generate: '({ seed }) => ({ question: String(seed % 4), key: "1", steps: [] })' },
    /the same question with seed 2147483648 .* must never ask what training asks/,
  ],
  ['gives no verdict', { verify: '() => true' }, /`verify` gave no score from 0 to 1, with seed 0/],
  [
    'has random verdicts',
    { verify: `() => ({ score: Math.random(), answer: null, found: 'none' })` },
    /two verdicts/,
  ],
  ['hangs', { verify: '() => { for (;;); }' }, /takes more than 0.25 s to compute/],
])('one that %s is refused before the node starts', async (_, parts, message) => {
  const error = (await load(parts).catch((thrown: unknown) => thrown)) as WaggleError
  expect(error.code).toBe('E_DATASET')
  expect(error.message).toMatch(message)
  expect(error.message).toMatch(/^the task \S+mine\.ts has a problem/)
  expect(error.hint).toMatch(/^Correct \S+mine\.ts,/)
})

test('an answer on which it fails scores 0, which is reported', async () => {
  const trouble: string[] = []
  const verify = `(instance, text) => {
    if (text === 'odd') throw new Error('cannot read that')
    return (${VERIFY})(instance, text)
  }`
  const task = await load({ verify }, { trouble })
  const instance = task.generate({ seed: 1, difficulty: 0 })
  expect(task.verify(instance, 'odd')).toEqual({ score: 0, answer: null, found: 'none' })
  expect(trouble).toEqual(['cannot read that; the answer scores 0'])
})

test('a file stands beside neither a dataset nor its keys', async () => {
  await expect(load({}, { more: 'dataset = "x.csv"\n' })).rejects.toThrow(
    /use .*cannot stand beside `dataset`/,
  )
  await expect(load({}, { more: 'verifier = "exact"\n' })).rejects.toThrow(/is only for a `dataset`/)
  await expect(load({}, { more: '[[tasks]]\nname = "bf"\nuse = "bf"\n' })).rejects.toThrow(/path of a file/)
})
