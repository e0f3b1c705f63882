import { describe, expect, it } from 'vitest'
import rescue from '../../../plugins/replay/rescue.ts'
import { createSuccesses, type Success } from '../../../plugins/replay/successes.ts'
import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import { evaluate } from '../../../protocol/plugin/expression/expression.ts'
import { gradient } from '../../../protocol/plugin/expression/gradient.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { createScriptedContext, tokensOf } from '../../../protocol/plugin/testing/index.ts'
import { type Group, isShareable, type Rollout, scoresOf } from '../../../protocol/train/index.ts'
import { rolloutOf, withSettings } from '../samples.ts'
import { viewAt, visit } from './samples.ts'

/** Finds a text the less likely the longer it is. */
const context = createScriptedContext({
  tasks: [basicArithmetic],
  logprobs: ({ completion }) => Array.from(completion, () => -completion.length),
})

const answer = (seed: number, before = ''): string => {
  const { key } = basicArithmetic.generate({ seed, difficulty: 1 })
  return `${before}<answer>${key}</answer>`
}
const written = (text: string, reward: number): Rollout => {
  const tokens = tokensOf(text)
  return rolloutOf(reward, tokens.length, { text, tokens })
}
/** A peer's group: one right answer, one wrong one. */
const theirs = (seed: number, { author = 'peer', before = '' } = {}): Group =>
  visit(seed, 0, [written(answer(seed, before), 1), written('no', 0)], { author })
/** Texts long enough that a success is within the share of a batch. */
const stuck = (seed: number, version = 1): Group =>
  visit(
    seed,
    version,
    Array.from({ length: 3 }, (_, i) => written(`${'wrong '.repeat(12)}${i}`, 0)),
  )

/** What a node does with a round's groups, up to what the batch trains on. */
async function play(hooks: Hooks, groups: Group[], version = 1): Promise<Group[]> {
  const kept = await hooks.group!(groups, viewAt(version, 'round'), context)
  await hooks.observe!(kept, context)
  return hooks.group!(
    kept.filter(({ always }) => always),
    viewAt(version),
    context,
  )
}
const authorsOf = (group: Group | undefined) => group?.rollouts.map(({ author }) => author)
const texts = (groups: Group[]) =>
  groups.flatMap(({ rollouts }) => rollouts.flatMap(({ author, text }) => (author ? [text] : [])))

describe('a group whose answers are all wrong', () => {
  it('learns from itself and from a peer’s success, by one mean and one spread', async () => {
    const hooks = withSettings(rescue)
    await hooks.receive!([theirs(1)], context)
    const [group] = await play(hooks, [stuck(1)])
    expect(authorsOf(group)).toEqual([undefined, undefined, undefined, 'peer'])
    // Rewards 0, 0, 0, 1: mean 1/4, standard deviation 1/2.
    const advantages = await hooks.modify!([[0, 0, 0, 0]], [group!], context)
    expect((advantages[0] as number[]).map((value) => +value.toFixed(4))).toEqual([-0.5, -0.5, -0.5, 1.5])
    const columns = await hooks.columns!(advantages, [group!], context)
    expect(columns).toEqual({ borrowed: [[0, 0, 0, 1]] })
  })

  it('is dropped as before while no peer has a success', async () => {
    const hooks = withSettings(rescue)
    await hooks.receive!([theirs(2)], context)
    const [group] = await hooks.group!([stuck(1)], viewAt(1, 'round'), context)
    expect(group!.always).toBeUndefined()
  })

  it('is neither shared nor scored with what it borrowed', async () => {
    const hooks = withSettings(rescue)
    await hooks.receive!([theirs(1)], context)
    const [group] = await play(hooks, [stuck(1)])
    expect(scoresOf(group!)).toEqual([0, 0, 0])
    expect(isShareable({ ...group!, always: false })).toBe(false)
  })

  it('borrows nothing whose answer this node’s verifier finds wrong, whatever the peer’s group says', async () => {
    const hooks = withSettings(rescue)
    const lie = theirs(1)
    lie.rollouts[0] = written('<answer>no number</answer>', 1)
    await hooks.receive!([lie], context)
    expect(await play(hooks, [stuck(1)])).toEqual([])
  })

  it('borrows for an equal question under another seed', async () => {
    const seeds = Array.from({ length: 4000 }, (_, seed) => seed)
    const questions = new Map<string, number>()
    const pair = seeds.flatMap((seed) => {
      const { question } = basicArithmetic.generate({ seed, difficulty: 1 })
      const before = questions.get(question)
      questions.set(question, seed)
      return before === undefined ? [] : [[before, seed] as const]
    })[0]!
    const hooks = withSettings(rescue)
    await hooks.receive!([theirs(pair[0])], context)
    expect(authorsOf((await play(hooks, [stuck(pair[1])]))[0])).toContain('peer')
  })
})

describe('a success', () => {
  it('is lent twice at most, also when its author sends the question again', async () => {
    const hooks = withSettings(rescue)
    const lent: number[] = []
    for (let version = 1; version <= 4; version++) {
      await hooks.receive!([theirs(1, { before: 'again '.repeat(version) })], context)
      lent.push((await play(hooks, [stuck(1, version)], version)).length)
    }
    expect(lent).toEqual([1, 1, 0, 0])
  })

  it('is of no use once an own answer was right', async () => {
    const hooks = withSettings(rescue)
    await hooks.receive!([theirs(1)], context)
    await hooks.observe!([visit(1, 1, [0, 1])], context)
    expect(await play(hooks, [stuck(1)])).toEqual([])
    await hooks.receive!([theirs(1, { author: 'other' })], context)
    expect(await play(hooks, [stuck(1)])).toEqual([])
  })

  it('is the one that this node finds likeliest, of several authors', async () => {
    const hooks = withSettings(rescue)
    await hooks.receive!(
      [theirs(1, { author: 'liar', before: 'xyzzy' }), theirs(1, { author: 'honest' })],
      context,
    )
    expect(texts(await play(hooks, [stuck(1)]))).toEqual([answer(1)])
  })

  it('has the log-probs of nobody, and the age of the step', async () => {
    const hooks = withSettings(rescue)
    await hooks.receive!([theirs(1)], context)
    const [group] = await play(hooks, [stuck(1, 7)], 7)
    expect(group!.rollouts.at(-1)).toMatchObject({ author: 'peer', reward: 1, segments: [{ version: 7 }] })
    expect(group!.rollouts.at(-1)!.behaviourLogprobs).toBeUndefined()
  })
})

it('an episode is borrowed with its turns, and the environment’s tokens stay masked', async () => {
  const hooks = withSettings(rescue)
  const text = answer(1)
  const turns = [{ state: 's', observation: 'o', start: 0, length: 4, reward: 1 }]
  const lossMask = Uint8Array.from(text, (_, i) => (i < 4 ? 1 : 0))
  const group = theirs(1)
  group.rollouts[0] = { ...written(text, 1), turns, lossMask }
  const own = stuck(1)
  own.rollouts = own.rollouts.map((rollout) => ({ ...rollout, turns: [{ ...turns[0]!, reward: 0 }] }))
  await hooks.receive!([group], context)
  const saved = await hooks.save!()
  const after = withSettings(rescue)
  await after.load!(saved)
  for (const one of [hooks, after])
    expect((await play(one, [own]))[0]!.rollouts.at(-1)).toMatchObject({ author: 'peer', turns, lossMask })
})

describe('what a peer can do', () => {
  it('borrowed tokens stay within their share of a batch', async () => {
    const hooks = withSettings(rescue, { share: 0.05 })
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
    await hooks.receive!(
      seeds.map((seed) => theirs(seed)),
      context,
    )
    const batch = await play(
      hooks,
      seeds.map((seed) => stuck(seed)),
    )
    const count = (isTheirs: boolean): number =>
      batch
        .flatMap(({ rollouts }) => rollouts)
        .filter(({ author }) => (author !== undefined) === isTheirs)
        .reduce((sum, { tokens }) => sum + tokens.length, 0)
    expect(count(true)).toBeGreaterThan(0)
    const own = seeds.length * stuck(1).rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0)
    expect(count(true)).toBeLessThanOrEqual(0.05 * own)
  })

  it('no author takes the others’ part of that share', async () => {
    const hooks = withSettings(rescue, { share: 0.1 })
    const seeds = [1, 2, 3, 4, 5, 6]
    await hooks.receive!(
      [...seeds.map((seed) => theirs(seed, { author: 'greedy' })), theirs(6, { author: 'modest' })],
      context,
    )
    const batch = await play(
      hooks,
      seeds.map((seed) => stuck(seed)),
    )
    const lent = batch.flatMap((group) => authorsOf(group)!.filter((author) => author !== undefined))
    expect(lent).toContain('modest')
    expect(lent.filter((author) => author === 'greedy').length).toBeLessThan(seeds.length - 1)
  })

  it('a flood crowds out nobody but its author', () => {
    const successes = createSuccesses({ records: 20, bytes: 1e6, perQuestion: 4, uses: 2 })
    const one = (author: string, question: string): Success => ({
      ...{ author, question, text: 'x', tokens: new Int32Array(4), finish: 'stop', uses: 0 },
    })
    for (let i = 0; i < 5; i++) successes.add(one('honest', `h${i}`))
    for (let i = 0; i < 500; i++) successes.add(one('flood', `f${i}`))
    expect(successes.size).toBe(20)
    expect([0, 1, 2, 3, 4].flatMap((i) => successes.of(`h${i}`))).toHaveLength(5)
  })

  it('many names on one question keep a few places', () => {
    const successes = createSuccesses({ records: 100, bytes: 1e6, perQuestion: 4, uses: 2 })
    for (let i = 0; i < 50; i++)
      successes.add({
        author: `${i}`,
        question: 'q',
        text: 'x',
        tokens: new Int32Array(4),
        finish: 'stop',
        uses: 0,
      })
    expect(successes.of('q')).toHaveLength(4)
  })
})

describe('the shaped loss', () => {
  const { instead } = withSettings(rescue).correct!()
  const at = (probability: number) => ({ logprob: [Math.log(probability)], advantage: [1.5], mask: [1] })

  it('is -f(pi) A with f(x) = x / (x + 0.1)', () => {
    expect(evaluate(instead!.loss, at(0.1))[0]).toBeCloseTo(-0.75)
    expect(evaluate(instead!.loss, at(0.9))[0]).toBeCloseTo(-1.35)
  })

  it('is -A log pi where the config says plain', () => {
    const plain = withSettings(rescue, { loss: 'plain' }).correct!().instead!
    expect(gradient(plain.loss, at(1e-4))[0]).toBeCloseTo(-1.5)
  })

  it('pushes most at pi = gamma, by a quarter of the advantage, and hardly where a token is planted', () => {
    const push = (probability: number): number => -gradient(instead!.loss, at(probability))[0]!
    expect(push(0.1)).toBeCloseTo(1.5 / 4)
    expect(push(0.05)).toBeLessThan(push(0.1))
    expect(push(0.3)).toBeLessThan(push(0.1))
    // gamma pi / (pi + gamma)^2 at 1e-4 is 0.001.
    expect(push(1e-4)).toBeCloseTo(1.5 * 0.000998, 5)
  })
})

it('goes on from a saved state, and forgets what another tokenizer encoded', async () => {
  const before = withSettings(rescue)
  await before.receive!([theirs(1)], context)
  await before.group!([stuck(9)], viewAt(1, 'round'), context)
  const saved = await before.save!()
  const after = withSettings(rescue)
  await after.load!(saved)
  expect(texts(await play(after, [stuck(1)]))).toEqual([answer(1)])
  const other = withSettings(rescue)
  await other.load!(saved)
  const view = { ...viewAt(1, 'round'), tokenizer: 'c'.repeat(64) }
  expect((await other.group!([stuck(1)], view, context))[0]!.always).toBeUndefined()
})
