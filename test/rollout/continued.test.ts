// Rollouts that continue the beginning of another one: what the sampler sees, what is learnt, what never leaves the node.

import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadModel } from '../../daemon/policy/model.ts'
import { playRound } from '../../daemon/rollout/round.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import keysAndDoors from '../../plugins/tasks/environments/keys-and-doors.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import {
  type Hooks,
  type Prefix,
  type Request,
  readTranscript,
  TURN_MARK,
} from '../../protocol/plugin/index.ts'
import { type Group, isShareable, scoresOf, type Turn } from '../../protocol/train/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { answer, keyOf, sums } from './answers.ts'
import { characterTokenizer } from './characters.ts'
import { type PlayOptions, play, plugin } from './play.ts'

const tokenizer = characterTokenizer()
const textOf = (tokens: Int32Array): string => tokenizer.decodeCompletion(tokens)

/** Whole answers by the plain script; a continued `<answer>` is ended with the key. */
const write: PlayOptions['write'] = (prompt, at) =>
  prompt.endsWith('<answer>') ? `${keyOf(prompt)}</answer>` : answer(prompt, at)

const withExtend = (hooks: Hooks, more: Partial<PlayOptions> = {}, tokens = 10_000) =>
  play({
    write,
    plugins: [
      plugin('sums', 'selector', sums(), { claims: ['picker'] }),
      plugin('brancher', 'hint', hooks, { budget: () => ({ tokens }) }),
    ],
    host: { selector: { use: 'sums' }, hints: [{ use: 'brancher' }] },
    ...more,
  })

/** Asks once to continue a rollout, up to the end of `<answer>` if nothing else is said. */
const once =
  (make: (group: Group) => Partial<Request> & { prefix: Prefix }): NonNullable<Hooks['extend']> =>
  ({ groups, asked }) =>
    asked > 0
      ? []
      : [{ id: 'on', prompt: groups[0]!.prompt, rollouts: 3, keep: 'train', ...make(groups[0]!) }]
const upToAnswer = (group: Group, rollout = 1): Prefix => {
  const { text } = group.rollouts[rollout]!
  return { group, rollout, length: text.indexOf('<answer>') + '<answer>'.length }
}

test('continues what was written, is verified as a whole, and learns only what is new', async () => {
  const playing = await withExtend({ extend: once((group) => ({ prefix: upToAnswer(group) })) })
  const { groups, tokens } = await playing.round()
  const [base, , continued] = groups
  const source = base!.rollouts[1]!
  expect(source.reward).toBe(0)
  const { length } = upToAnswer(base!)
  const begun = source.tokens.subarray(0, length)
  expect(playing.engine.requests[1]!.samples.map(({ prompt }) => prompt)).toEqual(
    Array(3).fill(Int32Array.from([...base!.conditioning, ...begun])),
  )
  expect(continued).toMatchObject({
    arm: 'continued',
    conditioning: base!.conditioning,
    prompt: base!.prompt,
  })
  for (const rollout of continued!.rollouts) {
    expect(rollout.tokens.subarray(0, length)).toEqual(begun)
    expect(rollout.text).toBe(`${textOf(begun)}${keyOf(textOf(base!.conditioning))}</answer>`)
    expect(rollout).toMatchObject({ reward: 1, prefix: length, finish: 'stop' })
    expect([...rollout.lossMask!]).toEqual(Array.from(rollout.tokens, (_, t) => (t < length ? 0 : 1)))
    expect(rollout.segments).toEqual([{ version: 0, start: 0, length: rollout.tokens.length }])
    expect(rollout.behaviourLogprobs!.subarray(0, length).every((value) => value === 0)).toBe(true)
    expect(rollout.behaviourLogprobs!.subarray(length).every((value) => value < 0)).toBe(true)
  }
  expect(tokens).toBe(playing.engine.drawn)
  expect(playing.troubles).toEqual([])
})

test('is no score, and is not shared, also where a plugin puts it among others', async () => {
  const { groups } = await (
    await withExtend({ extend: once((group) => ({ prefix: upToAnswer(group) })) })
  ).round()
  const [base, , continued] = groups
  expect(isShareable(base!)).toBe(true)
  expect(scoresOf(continued!)).toEqual([])
  const mixed = { ...base!, rollouts: [...base!.rollouts, continued!.rollouts[0]!] }
  expect(scoresOf(mixed)).toEqual(scoresOf(base!))
  expect(isShareable(mixed)).toBe(false)
})

test('stays under the text that its beginning was written under, with its arm and taint', async () => {
  let hinted: Group | undefined
  const playing = await withExtend({
    extend({ groups, landed, asked }): Request[] {
      const { prompt } = groups[0]!
      const rewrite = { before: 'Line them up. ', arm: 'hint', tainted: true }
      if (asked === 0) return [{ id: 'hinted', prompt, rollouts: 2, keep: 'train', rewrite }]
      if (asked > 1) return []
      hinted = landed.get('hinted')!
      return [{ id: 'on', prompt, rollouts: 1, keep: 'train', prefix: upToAnswer(hinted, 0) }]
    },
  })
  const continued = (await playing.round()).groups.at(-1)!
  expect(continued).toMatchObject({ arm: 'hint', tainted: true, conditioning: hinted!.conditioning })
  expect(continued.rollouts[0]!.prefix).toBeGreaterThan(0)
})

test('costs its new tokens alone, and what does not fit is not written', async () => {
  const left: number[] = []
  const extend = once((group) => ({ prefix: upToAnswer(group) }))
  const hooks: Hooks = {
    extend(view, context) {
      left.push(view.tokensLeft)
      return extend(view, context)
    },
  }
  const { groups } = await (await withExtend(hooks)).round()
  const written = groups[2]!.rollouts.reduce((sum, one) => sum + one.tokens.length - one.prefix!, 0)
  expect(left[0]! - left[1]!).toBe(written)
  // Of 64 tokens the prefix leaves these.
  const room = 64 - upToAnswer(groups[0]!).length
  expect((await (await withExtend(hooks, {}, room)).round()).groups[2]!.rollouts).toHaveLength(1)
  expect((await (await withExtend(hooks, {}, room - 1)).round()).groups).toHaveLength(2)
})

test.each<[string, (group: Group) => Partial<Request> & { prefix: Prefix }, RegExp]>([
  ['past its end', (group) => ({ prefix: { group, rollout: 1, length: 1000 } }), /1000 of \d+ tokens/],
  ['at its beginning', (group) => ({ prefix: { group, rollout: 1, length: 0 } }), /0 of \d+ tokens/],
  ['of no rollout', (group) => ({ prefix: { group, rollout: 9, length: 1 } }), /rollout 9 of a group of 4/],
  [
    'of another prompt',
    (group) => ({ prefix: upToAnswer(group), prompt: { ...group.prompt, seed: 77 } }),
    /a rollout of .* for .*77/,
  ],
  [
    'under a rewrite',
    (group) => ({ prefix: upToAnswer(group), rewrite: { before: 'Hm. ', arm: 'hint', tainted: false } }),
    /under a rewrite/,
  ],
])('a request to continue %s is a strike, with the reason', async (_, make, reason) => {
  const playing = await withExtend({ extend: once(make) })
  expect((await playing.round()).groups).toHaveLength(2)
  expect(playing.troubles.map(({ message }) => message)).toEqual([expect.stringMatching(reason)])
})

test('ids that the model does not have give no group, and cost nothing', async () => {
  const forged = (group: Group): Group => ({
    ...group,
    rollouts: group.rollouts.map((one) => ({ ...one, tokens: one.tokens.map(() => 2 ** 30) })),
  })
  const playing = await withExtend({
    extend: once((group) => ({ prefix: { group: forged(group), rollout: 1, length: 2 } })),
  })
  expect((await playing.round()).groups).toHaveLength(2)
  expect(playing.engine.requests).toHaveLength(1)
})

const DOORS = { task: keysAndDoors.name, taskVersion: keysAndDoors.version, seed: 0, difficulty: 0 }
const WAY = keysAndDoors.generate(DOORS).key.split(TURN_MARK)

/** An episode that is lost in its second turn, and one that continues it from a token that a test chooses. */
const branching = (length: (turn: Turn) => number) => {
  let isBranching = false
  return play({
    write(said) {
      const turn = (said.match(/\d,\d /g) ?? []).length
      if (said.endsWith('<answer>')) return `${WAY[turn]}</answer>`
      return `<answer>${turn === 1 && !isBranching ? 'hm' : (WAY[turn] ?? 'U')}</answer>`
    },
    tasks: [keysAndDoors],
    chosen: [{ name: keysAndDoors.name, difficulty: 0 }],
    ...{ groupSize: 1, want: 1, maxNewTokens: 400, context: 600 },
    plugins: [
      plugin('doors', 'selector', { select: () => [{ prompt: DOORS, rollouts: 1 }] }, { claims: ['picker'] }),
      plugin(
        'brancher',
        'hint',
        {
          extend({ groups, asked }) {
            isBranching = true
            const at = length(groups[0]!.rollouts[0]!.turns![1]!)
            const prefix = { group: groups[0]!, rollout: 0, length: at }
            return asked > 0 ? [] : [{ id: 'on', prompt: DOORS, rollouts: 1, keep: 'train', prefix }]
          },
        },
        { budget: () => ({ tokens: 10_000 }) },
      ),
    ],
    host: { selector: { use: 'doors' }, hints: [{ use: 'brancher' }] },
  })
}

test.each<[string, (turn: Turn) => number]>([
  ['where an answer begins', ({ start }) => start],
  ['within an answer', ({ start }) => start + '<answer>'.length],
])('an episode goes on %s, as it would have gone from there', async (_, length) => {
  const { groups } = await (await branching(length)).round()
  const [base, continued] = groups.map(({ rollouts }) => rollouts[0]!)
  expect([base!.reward, continued!.reward]).toEqual([expect.closeTo(0, 0), 1])
  const given = length(base!.turns![1]!)
  expect(continued!.prefix).toBe(given)
  expect(continued!.tokens.subarray(0, given)).toEqual(base!.tokens.subarray(0, given))
  const parts = { environment: keysAndDoors.environment!, instance: keysAndDoors.generate(DOORS) }
  const whole = readTranscript(parts, continued!.tokens, tokenizer)
  expect(continued!.turns).toEqual(whole!.turns)
  expect([...continued!.lossMask!]).toEqual([...whole!.lossMask].map((own, t) => (t < given ? 0 : own)))
})

test('an episode cannot be continued where the environment speaks', async () => {
  const playing = await branching(({ start }) => start - 1)
  expect((await playing.round()).groups).toHaveLength(1)
  expect(playing.troubles.map(({ message }) => message)).toEqual([
    expect.stringMatching(/continues an episode at token \d+, which is not of an answer/),
  ])
})

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))

test('on the default model, what is continued has the log-probs that the policy gives it there', async () => {
  const model = await loadModel(DEFAULT, { disk })
  const engine = createLocalEngine({ threads: 1 })
  await engine.open({ ...model, version: 7 })
  const tasks = createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 0 }])
  const { host } = await withExtend({
    extend: once((group) => ({ prefix: { group, rollout: 0, length: 3 } })),
  })
  let seed = 0
  const { groups } = await playRound(
    {
      view: { tasks: tasks.view, rollouts: 2 },
      want: 1,
      policy: { lineage: model.digest, tokenizer: model.tokenizer.digest, version: 7 },
      ...{ maxNewTokens: 24, context: model.spec.contextLength, vocabulary: model.spec.vocabulary },
      ...{ temperature: 1, maxStaleness: 8, author: 'me', sampleSeed: () => seed++, now: () => 0 },
    },
    { sampler: engine, tokenizer: model.tokenizer, tasks, hooks: host.round({ step: 7 }) },
  )
  const continued = groups.at(-1)!
  expect(continued.arm).toBe('continued')
  const scores = await engine.score({
    sequences: continued.rollouts.map(({ tokens }) => ({
      conditioning: continued.conditioning,
      completion: tokens,
    })),
    temperature: 1,
  })
  continued.rollouts.forEach(({ behaviourLogprobs, lossMask, text, tokens }, i) => {
    lossMask!.forEach((own, t) => {
      if (own) expect(behaviourLogprobs![t]!).toBeCloseTo(scores[i]!.logprobs[t]!, 4)
    })
    expect(text).toBe(model.tokenizer.decodeCompletion(tokens))
  })
  await engine.close()
})
