// A verifier from a file: how it scores, what is refused before a node starts, and what a failure costs afterwards.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadConfig } from '../../daemon/config/load.ts'
import { loadTasks } from '../../daemon/wiring/datasets.ts'
import type { WaggleError } from '../../protocol/errors.ts'
import type { Task } from '../../protocol/plugin/index.ts'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** A home with a dataset and a verifier; `file` is all of it, `score` the function alone. */
async function load(
  verifier: { file?: string; score?: string; extra?: string },
  { settings = '', trouble = [] as string[], name = 'mine.ts' } = {},
): Promise<Task> {
  const folder = mkdtempSync(join(tmpdir(), 'waggle-verifier-'))
  folders.push(folder)
  const { extra = '', score = '() => 0' } = verifier
  const text = `${extra}\nexport default { name: 'mine', kind: 'verifier', api: 1, summary: 'Mine.', score: ${score} }\n`
  writeFileSync(join(folder, name), verifier.file ?? text)
  writeFileSync(
    join(folder, 'rows.jsonl'),
    '{"prompt":"a?","answer":"A"}\n{"prompt":"b?","answer":"A"}\n{"prompt":"c?","answer":"A"}\n',
  )
  const file = join(folder, 'config.toml')
  writeFileSync(
    file,
    `[[tasks]]\nname = "rows"\ndataset = "rows.jsonl"\nverifier = { use = "./${name}"${settings} }\n`,
  )
  const { config } = loadConfig({ file, env: {}, cwd: '/elsewhere', homedir: '/home/ada' })
  const tasks = await loadTasks(config.tasks, {
    onTrouble: ({ name: of, message }) => trouble.push(`${of}: ${message}`),
  })
  return tasks.at(-1)!
}
const score = (task: Task, completion: string) =>
  task.verify(task.generate({ seed: 1, difficulty: 0 }), completion)

test('it is given prompt, answer, completion and settings, and may score partly', async () => {
  const task = await load(
    {
      file: `import { z } from 'zod'
export default {
  name: 'brief', kind: 'verifier', api: 1, summary: 'Right and brief.',
  settings: z.strictObject({ words: z.int().default(9) }),
  score({ prompt, answer, completion, text, tagged, settings }: any): number {
    if (!/^[abc]\\?$/.test(prompt) || text !== answer) return 0
    return tagged && completion.split(' ').length <= settings.words ? 1 : 0.5
  },
}
`,
    },
    { settings: ', words = 3' },
  )
  expect(score(task, 'so <answer>A</answer>')).toEqual({ score: 1, answer: 'A', found: 'tag' })
  expect(score(task, 'one two three four <answer>A</answer>').score).toBe(0.5)
  expect(score(task, 'A')).toEqual({ score: 0.5, answer: 'A', found: 'last-line' })
  expect(score(task, '')).toEqual({ score: 0, answer: null, found: 'none' })
  // Nobody knows whether what the row calls the answer solves it.
  expect(task.generate({ seed: 1, difficulty: 0 }).steps).toEqual([])
})

test('its contents and settings decide the version, the ends of lines do not', async () => {
  const version = async (extra: string, settings = '') => (await load({ extra }, { settings })).version
  const plain = await version('// one\n// two')
  expect(await version('// one\r\n// two')).toBe(plain)
  expect(await version('// one\n// three')).not.toBe(plain)
  const schema = (words: number) => `import { z } from 'zod'
const settings = z.object({ words: z.number().default(${words}) })`
  const file = `${schema(1)}\nexport default { name: 'mine', kind: 'verifier', api: 1, summary: '', settings, score: () => 0 }`
  const one = await load({ file }, { settings: ', words = 1' })
  expect((await load({ file })).version).toBe(one.version)
  expect((await load({ file }, { settings: ', words = 2' })).version).not.toBe(one.version)
})

test('one that is not there is refused', async () => {
  const missing = [{ name: 'rows', dataset: '/nowhere/rows.csv', verifier: '/nowhere/mine.ts' }]
  const error = (await loadTasks(missing).catch((thrown: unknown) => thrown)) as WaggleError
  expect(error.message).toMatch(/mine\.ts {2}mine\.ts does not exist; check the path/)
  expect(error.hint).toMatch(/^Correct the config,/)
})

test('an address is refused, with how a program gives rewards', async () => {
  const address = [{ name: 'rows', dataset: '/nowhere/rows.csv', verifier: 'http://localhost:8000/judge' }]
  await expect(loadTasks(address)).rejects.toThrow(/that is an address.* as an agent: docs\/agents\.md/)
})

test('one that the config names without ./ is refused, with how a file is named', async () => {
  const bare = [{ name: 'rows', dataset: '/nowhere/rows.csv', verifier: 'mine.ts' }]
  await expect(loadTasks(bare)).rejects.toThrow(
    /"mine\.ts" is no verifier's name.* in the config, as "\.\/mine\.ts"/,
  )
})

test.each<[string, Parameters<typeof load>[0], string, RegExp]>([
  ['is not code', { file: 'export default {' }, '', /mine\.ts {2}cannot be loaded: /],
  ['exports nothing', { file: 'export const x = 1' }, '', /no verifier as its default export/],
  [
    'exports an estimator',
    { file: "export default { kind: 'estimator', score() {} }" },
    '',
    /is a estimator/,
  ],
  ['is of another API', { file: "export default { kind: 'verifier', api: 9, score() {} }" }, '', /API 9/],
  [
    'has the name of another',
    { file: "export default { kind: 'verifier', api: 1, name: 'numeric', score() {} }" },
    '',
    /the name of a built-in verifier/,
  ],
  [
    'has settings without a schema',
    { file: "export default { kind: 'verifier', api: 1, name: 'mine', settings: null, score() {} }" },
    '',
    /its settings must be a schema, such as z\.strictObject/,
  ],
  ['has no such setting', {}, ', words = 1', /has no settings, so no "words"/],
  [
    'imports another file',
    { extra: "import { x } from './other.ts'" },
    '',
    /imports "\.\/other\.ts"; a verifier must be a single file/,
  ],
  ['imports a package', { extra: "const x = await import('lodash')" }, '', /imports "lodash"/],
  ['is too large', { extra: `// ${'x'.repeat(1 << 20)}` }, '', /larger than 1024 KiB/],
  ['throws', { score: '() => { throw new Error("no luck") }' }, '', /mine\.ts {2}no luck, asked "a\?"/],
  ['gives a text', { score: '() => "true"' }, '', /gave the text "true" as a score; it must be a number/],
  ['gives nothing', { score: '() => {}' }, '', /gave nothing as a score/],
  ['is async', { score: 'async () => 1' }, '', /gave a promise; .*`score` cannot be async/],
  ['is async and fails', { score: 'async () => { throw new Error("x") }' }, '', /gave a promise/],
  [
    'gives parts that are none',
    { score: '() => ({ score: 1, parts: { right: NaN } })' },
    '',
    /gave parts of a score that are not 1 to 16/,
  ],
  ['gives too much', { score: '() => 1.5' }, '', /gave 1\.5 as a score/],
  [
    'is random',
    { extra: 'let n = 0', score: '() => (n++ % 2)' },
    '',
    /gives 0 and then 1 for the same answer/,
  ],
  ['hangs', { score: '() => { for (;;); }' }, '', /takes more than 0.25 s to compute/],
])('one that %s is refused before the node starts', async (_, verifier, settings, message) => {
  const error = (await load(verifier, { settings }).catch((thrown: unknown) => thrown)) as WaggleError
  expect(error.code).toBe('E_DATASET')
  expect(error.message).toMatch(message)
  expect(error.message).toMatch(/^the verifier \S+mine\.ts of the dataset \S+rows\.jsonl has a problem/)
  expect(error.hint).toMatch(/^Correct \S+mine\.ts,/)
})

test('it may tell the parts of a score apart, which rollouts then have', async () => {
  const right =
    '({ text, answer, completion }: any) => ({ score: text === answer, parts: { right: Number(text === answer), short: completion.length < 40 ? 1 : 0 } })'
  const task = await load({ score: right })
  expect(score(task, '<answer>A</answer>')).toEqual({
    ...{ score: 1, answer: 'A', found: 'tag' },
    parts: { right: 1, short: 1 },
  })
  expect(score(task, '<answer>B</answer>')).toMatchObject({ score: 0, parts: { right: 0, short: 1 } })
})

test('an answer on which it fails scores 0, and some of the failures are reported', async () => {
  const trouble: string[] = []
  const task = await load(
    {
      score: `({ completion }) => {
        if (completion.includes('hang')) for (;;);
        if (completion.includes('throw')) throw new Error('cannot read that')
        return completion.includes('odd') ? Number.NaN : 1
      }`,
    },
    { trouble },
  )
  expect(score(task, 'fine').score).toBe(1)
  expect(trouble).toEqual([])
  expect(score(task, 'hang').score).toBe(0)
  expect(trouble).toEqual([
    expect.stringMatching(/^mine: .*takes more than 0.25 s to compute; the answer scores 0$/),
  ])
  for (let i = 0; i < 99; i++) expect(score(task, i % 2 ? 'odd' : 'throw').score).toBe(0)
  expect(trouble).toHaveLength(7)
  expect(score(task, 'fine').score).toBe(1)
})
