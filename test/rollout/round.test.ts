import { expect, test } from 'vitest'
import { scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Hooks, Manifest, Request, RoundView } from '../../protocol/plugin/index.ts'
import { type Group, HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { recordedPhases } from '../recorded-phases.ts'
import { answer, keyOf, sums } from './answers.ts'
import { characterTokenizer } from './characters.ts'
import { plainRound } from './plain-round.ts'
import { LINEAGE, type PlayOptions, play, plugin } from './play.ts'
import { createScriptedEngine } from './scripted-engine.ts'

const tokenizer = characterTokenizer()
const promptOf = (seed: number) => ({
  task: 'basic_arithmetic',
  taskVersion: TASKS[0]!.version,
  seed,
  difficulty: 0,
})

/** A round with a picker of sums, and hooks under the name `hint/helper`. */
const withHooks = (hooks: Hooks, manifest: Manifest = {}, more: Partial<PlayOptions> = {}) =>
  play({
    write: answer,
    plugins: [
      plugin('sums', 'selector', sums(), { claims: ['picker'] }),
      plugin('helper', 'hint', hooks, { budget: () => ({ tokens: 10_000 }), ...manifest }),
    ],
    host: { selector: { use: 'sums' }, hints: [{ use: 'helper' }] },
    ...more,
  })

test('without plugins a round gives what the plain round gives, to the last bit', async () => {
  const tasks = createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }])
  const options = {
    asks: [0, 1].map((seed) => ({ prompt: promptOf(seed), rollouts: 4 })),
    policy: { lineage: LINEAGE, tokenizer: tokenizer.digest, version: 3 },
    maxNewTokens: 24,
    temperature: 1,
    author: 'me',
    sampleSeed: (index: number) => index,
    now: () => 1000,
  }
  const plain = {
    sampler: createScriptedEngine({ tokenizer, write: answer, version: 3 }),
    tokenizer,
    tasks,
  }
  const expected = await plainRound(options, plain)
  expect(expected.groups.flatMap(({ rollouts }) => rollouts.map(({ reward }) => reward))).toContain(1)
  const playing = await play({
    write: answer,
    maxNewTokens: 24,
    plugins: [plugin('sums', 'selector', sums(), { claims: ['picker'] })],
    host: { selector: { use: 'sums' } },
  })
  expect(await playing.round({ version: 3 })).toEqual(expected)
  expect(playing.engine.requests).toEqual(plain.sampler.requests)
})

test('text of a plugin is what the sampler saw and the loss conditions on, and the group says so', async () => {
  const playing = await withHooks({
    compose: ({ prompt }) =>
      prompt.seed === 0
        ? { before: 'Be quick. ', arm: 'hint', tainted: false, level: 2, items: ['a'] }
        : undefined,
  })
  const { groups } = await playing.round()
  expect(groups.map(({ arm }) => arm)).toEqual(['hint', 'base'])
  const { question } = TASKS[0]!.generate(promptOf(0))
  expect(groups[0]!.conditioning).toEqual(tokenizer.encodePrompt(`Be quick. ${question}`))
  expect(groups[0]!.origin).toEqual({ plugin: 'hint/helper', level: 2, items: ['a'] })
  expect(playing.engine.requests[0]!.samples[0]!.prompt).toEqual(groups[0]!.conditioning)
})

test('text that leaves no room for a whole answer is left out', async () => {
  const playing = await withHooks(
    { compose: () => ({ before: 'x'.repeat(500), arm: 'hint', tainted: false }) },
    {},
    { context: 512, maxNewTokens: 64 },
  )
  expect((await playing.round()).groups.map(({ arm }) => arm)).toEqual(['base', 'base'])
})

test('a plugin requests groups until it has enough; they are verified, rewarded and passed to it', async () => {
  const views: RoundView[] = []
  const playing = await withHooks({
    reward: (group) => group.rollouts.map(({ reward }) => reward / 2),
    extend(view): Request[] {
      views.push(view)
      const { groups, asked } = view
      if (asked === 2) return []
      const { prompt, id } = groups[0]!
      const rewrite = { before: `Hint ${asked}. `, arm: 'hint', tainted: true, level: asked }
      if (asked === 0) return [{ id: 'probe', prompt, rollouts: 2, keep: 'probe' }]
      return [
        { id: 'one', prompt, rollouts: 2, keep: 'train', rewrite, parent: id },
        { id: 'two', prompt, rollouts: 3, keep: 'train', chain: { id: 'c', position: 1 } },
      ]
    },
  })
  const { groups, tokens } = await playing.round()
  expect(views.map(({ landed }) => [...landed.keys()])).toEqual([[], ['probe'], ['probe', 'one', 'two']])
  expect(groups.map(({ origin }) => origin?.request)).toEqual([undefined, undefined, 'one', 'two'])
  expect(groups[2]).toMatchObject({
    arm: 'hint',
    tainted: true,
    origin: { plugin: 'hint/helper', request: 'one', parent: groups[0]!.id, level: 1 },
  })
  expect(groups[3]).toMatchObject({ arm: 'base', origin: { chain: { id: 'c', position: 1 } } })
  expect(groups.map(({ rollouts }) => rollouts.length)).toEqual([4, 4, 2, 3])
  for (const { reward, taskReward } of groups.flatMap(({ rollouts }) => rollouts))
    expect(reward === 0 ? 0 : taskReward).toBe(2 * reward)
  expect(tokens).toBe(playing.engine.drawn)
  const spent = views[0]!.tokensLeft - views[2]!.tokensLeft
  expect(spent).toBe(
    tokens - views[2]!.groups.flatMap((g) => g.rollouts).reduce((n, r) => n + r.tokens.length, 0),
  )
})

test('requests with one name land as one group, whose rollouts keep what each of them was shown', async () => {
  const playing = await withHooks({
    extend({ groups, asked }): Request[] {
      const { prompt } = groups[0]!
      const at = (id: string, before: string): Request => ({
        id,
        prompt,
        rollouts: 2,
        keep: 'train',
        into: 'all',
        rewrite: { before, arm: id, tainted: false, items: [id] },
      })
      if (asked === 0) return [at('short', 'a '), at('long', 'abc ')]
      const other = { ...at('other', 'x '), prompt: groups[1]!.prompt }
      return asked === 1 ? [at('third', 'd '), other] : []
    },
  })
  const merged = (await playing.round()).groups.slice(2)
  expect(merged.map(({ origin }) => origin)).toEqual([
    { plugin: 'hint/helper', request: 'all', items: ['short', 'long', 'third'] },
    expect.objectContaining({ request: 'all', items: ['other'] }),
  ])
  const { question } = TASKS[0]!.generate(promptOf(0))
  const seen = (before: string): Int32Array => tokenizer.encodePrompt(`${before}${question}`)
  expect(merged[0]).toMatchObject({ arm: 'short', conditioning: seen('a ') })
  expect(merged[0]!.rollouts.map(({ arm, conditioning }) => [arm, conditioning])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    ['long', seen('abc ')],
    ['long', seen('abc ')],
    ['third', seen('d ')],
    ['third', seen('d ')],
  ])
})

test('no plugin gets more tokens than it may have, and the round goes on without the rest', async () => {
  const playing = await withHooks(
    {
      extend: ({ groups, asked }): Request[] =>
        asked > 3 ? [] : [{ id: `${asked}`, prompt: groups[0]!.prompt, rollouts: 6, keep: 'train' }],
    },
    { budget: () => ({ tokens: 200 }) },
  )
  const { groups, tokens } = await playing.round()
  const own = groups.slice(0, 2).flatMap(({ rollouts }) => rollouts)
  const extra = groups.slice(2).flatMap(({ rollouts }) => rollouts)
  const sum = (of: typeof own): number => of.reduce((n, { tokens }) => n + tokens.length, 0)
  expect(tokens).toBe(sum(own) + sum(extra))
  expect(sum(extra)).toBeLessThanOrEqual(200)
  // Less than a whole answer was left over.
  expect(sum(extra)).toBeGreaterThan(200 - 64)
})

test('a request for a prompt that does not exist costs nothing', async () => {
  const playing = await withHooks({
    extend({ groups, asked }): Request[] {
      const { prompt } = groups[0]!
      const at = (id: string, other: object): Request => ({
        id,
        prompt: { ...prompt, ...other },
        rollouts: 2,
        keep: 'train',
      })
      if (asked > 0) return []
      return [at('a', { task: 'chess' }), at('b', { difficulty: 99 }), at('c', {})]
    },
  })
  const { groups } = await playing.round()
  expect(groups.map(({ origin }) => origin?.request)).toEqual([undefined, undefined, 'c'])
})

test('a plugin that fails takes its groups with it and nothing else', async () => {
  const playing = await withHooks({
    extend({ groups, asked }): Request[] {
      if (asked === 1) throw new Error('broken')
      return [{ id: 'a', prompt: groups[0]!.prompt, rollouts: 2, keep: 'train' }]
    },
  })
  const { groups } = await playing.round()
  expect(groups.map(({ origin }) => origin)).toEqual([undefined, undefined])
  expect(playing.troubles).toEqual([expect.objectContaining({ hook: 'extend', message: 'broken' })])
})

test('groups may be replaced at the end of a round, and are shown as they stay', async () => {
  const seen: Group[][] = []
  const playing = await withHooks({
    group: (groups, view) => (view.at === 'round' ? groups.slice(1) : groups),
    observe: (groups) => void seen.push([...groups]),
  })
  const { groups } = await playing.round()
  expect(groups).toHaveLength(1)
  expect(seen).toEqual([groups])
})

test('an aborted round returns the finished groups', async () => {
  const playing = await withHooks({})
  expect((await playing.round({ signal: AbortSignal.abort() })).groups).toEqual([])
})

test('an evaluation asks the bare question, or what plugins make of it that may act there', async () => {
  const seen: string[] = []
  const engine = createScriptedEngine({
    tokenizer,
    write(prompt) {
      seen.push(prompt)
      return 'x'
    },
  })
  const playing = await withHooks(
    { compose: () => ({ before: 'Library: add slowly. ', arm: 'skill', tainted: false }) },
    { testTime: 'frozen' },
  )
  const silent = await withHooks({
    compose: () => ({ before: 'Hint: ', arm: 'hint', tainted: false }),
  })
  const tasks = createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }])
  const question = TASKS[0]!.generate(promptOf(HELD_OUT_SEED)).question
  for (const [compose, expected] of [
    [undefined, question],
    [(await playing.host.evaluation({ step: 0 })).compose, `Library: add slowly. ${question}`],
    [(await silent.host.evaluation({ step: 0 })).compose, question],
  ] as const) {
    await scorePrompts({ promptsPerTask: 1, maxNewTokens: 8 }, { sampler: engine, tokenizer, tasks, compose })
    expect(seen.splice(0)).toEqual([expected, expected])
  }
})

test('what leaves no room for an answer in an evaluation is left out of the question', async () => {
  const { host } = await withHooks(
    { compose: () => ({ before: 'x'.repeat(500), arm: 'skill', tainted: false }) },
    { testTime: 'frozen' },
  )
  const { compose } = await host.evaluation({ step: 0 })
  const tasks = createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }])
  const seen: string[] = []
  const engine = createScriptedEngine({
    tokenizer,
    write(prompt) {
      seen.push(prompt)
      return 'x'
    },
  })
  const options = { promptsPerTask: 1, maxNewTokens: 8, context: 128 }
  await scorePrompts(options, { sampler: engine, tokenizer, tasks, compose })
  const { question } = TASKS[0]!.generate(promptOf(HELD_OUT_SEED))
  expect(seen).toEqual([question, question])
})

test('a scripted policy knows the sums that it is asked', () => {
  const { question, key } = TASKS[0]!.generate(promptOf(7))
  expect(keyOf(`so ${question}`)).toBe(key)
})

test('a round and an evaluation tell how many answers have ended, while others are written', async () => {
  const tasks = createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }])
  const sampler = createScriptedEngine({ tokenizer, write: answer, version: 3 })
  const { phases, all } = recordedPhases()
  await scorePrompts(
    { promptsPerTask: 4, maxNewTokens: 24, samples: 2 },
    { sampler, tokenizer, tasks, phases },
  )
  expect(all).toMatchObject([{ name: 'evaluate', unit: 'answers', total: 12 }])
  const playing = await withHooks({}, {}, { phases })
  await playing.round({ version: 3 })
  const [evaluated, written, verified] = all
  expect(written).toMatchObject({ name: 'write', unit: 'answers' })
  expect(verified).toMatchObject({ name: 'verify', unit: 'groups' })
  for (const { done, total } of [evaluated!, written!, verified!]) {
    expect(done.length).toBeGreaterThan(1)
    expect(done.at(-1)).toBe(total)
  }
  // Long before the first answer has ended, there is something to see.
  for (const { done, tokens } of [evaluated!, written!]) {
    expect(done[0]).toBeGreaterThan(0)
    expect(done[0]).toBeLessThan(1)
    expect(tokens).toBeGreaterThan(12)
  }
})
