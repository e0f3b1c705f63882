import { expect, test } from 'vitest'
import { createParkedGroups, type ParkedGroup } from '../../daemon/rollout/parked/parked.ts'
import type { Hooks, LiveRollout, Plugin, Steering, SteerView } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { readRecord, writeRecord } from '../../protocol/train/record.ts'
import { answer, sums } from './answers.ts'
import { type PlayOptions, parkedIn, play, plugin } from './play.ts'
import { scriptedLogprob } from './scripted-engine.ts'

/** APRIL's rule (arXiv 2509.18521): as soon as `want` groups are done, all others are parked, done or not. */
const april = (factor = 2): Hooks => ({
  oversample: (want) => factor * want,
  steer(live, { want, asks }) {
    const done = asks.flatMap(({ live: left, done }, ask) => (left === 0 && done > 0 ? [ask] : []))
    if (done.length < want) return new Map()
    const first = new Set(done.slice(0, want))
    return new Map(live.filter(({ ask }) => !first.has(ask)).map(({ id }) => [id, 'park' as const]))
  },
})

const steered = (hooks: Hooks, more: Partial<PlayOptions> = {}) =>
  play({
    write: answer,
    plugins: [
      plugin('sums', 'selector', sums(), { claims: ['picker'] }),
      plugin('flow', 'control', hooks, { claims: ['flow'], needs: ['park'] }) as Plugin,
    ],
    host: { selector: { use: 'sums' }, controls: [{ use: 'flow' }] },
    maxNewTokens: 128,
    ...more,
  })

/** Answers of very different lengths, so that rounds end with much unfinished. */
const uneven = (prompt: string, { seed }: { seed: number }): string =>
  `${'long '.repeat((seed * 5) % 9)}${answer(prompt, { seed })}`

const tokensOf = (groups: readonly Group[]): number =>
  groups.flatMap(({ rollouts }) => rollouts).reduce((sum, { tokens }) => sum + tokens.length, 0)

test('exactly the wanted number of groups is finished, the oldest parked ones first, and no token is lost', async () => {
  const playing = await steered(april(), { write: uneven, want: 3 })
  const landed: Group[] = []
  let drawn = 0
  for (let version = 0; version < 6; version++) {
    const { groups, tokens } = await playing.round({ version })
    expect(groups).toHaveLength(3)
    landed.push(...groups)
    drawn += tokens
    // What is parked and what has landed is all that was ever drawn.
    const waiting = parkedIn(playing.parked)
    const kept = waiting
      .flatMap(({ sequences }) => sequences)
      .reduce((sum, { tokens }) => sum + tokens.length, 0)
    expect(tokensOf(landed) + kept).toBe(drawn)
    expect(drawn).toBe(playing.engine.drawn)
  }
  for (const group of landed) {
    expect(group.rollouts).toHaveLength(4)
    for (const { tokens, segments, behaviourLogprobs } of group.rollouts) {
      expect(segments.reduce((sum, { length }) => sum + length, 0)).toBe(tokens.length)
      expect(behaviourLogprobs).toHaveLength(tokens.length)
    }
  }
  const versions = landed.flatMap(({ rollouts }) => rollouts.map(({ segments }) => segments.length))
  expect(Math.max(...versions)).toBeGreaterThan(1)
  // First in, first out: a prompt that was asked earlier is never begun again, and lands unless it is longer.
  const prompts = landed.map(({ prompt }) => prompt.seed)
  expect(new Set(prompts).size).toBe(prompts.length)
})

test('a round whose weights are thrown away while it is written lands, parks and shows plugins nothing', async () => {
  const told: string[] = []
  const playing = await steered(
    {
      ...april(),
      extend(view) {
        told.push(`extend ${view.groups.length}`)
        return []
      },
      observe: (groups) => void told.push(`observe ${groups.length}`),
    },
    { write: uneven, want: 3 },
  )
  expect((await playing.round({ version: 0 })).groups).toHaveLength(3)
  const waiting = parkedIn(playing.parked)
  expect([told.splice(0), waiting.length]).toEqual([['extend 3', 'observe 3'], 3])
  const before = playing.engine.drawn
  const { groups, tokens } = await playing.round({ version: 1, isVoid: () => true })
  expect(groups).toEqual([])
  // What it took is told, and what it went on with is as it was.
  expect(tokens).toBe(playing.engine.drawn - before)
  expect(tokens).toBeGreaterThan(0)
  expect([told, parkedIn(playing.parked)]).toEqual([[], waiting])
})

test('parked groups continue in the order in which they were parked', async () => {
  let parking = true
  const order: number[][] = []
  const playing = await steered({
    steer(live, { asks }) {
      order.push(asks.map(({ prompt }) => prompt.seed))
      return new Map(parking ? live.map(({ id }) => [id, 'park' as const]) : [])
    },
  })
  await playing.round({ want: 2 })
  await playing.round({ want: 1 })
  expect(order.at(-1)).toEqual([0])
  parking = false
  const { groups } = await playing.round({ want: 3 })
  // The second was never begun anew; the first went to the end of the line when it was parked again.
  expect(groups.map(({ prompt }) => prompt.seed)).toEqual([1, 0, 2])
})

test('a parked rollout continues exactly as without parking, with its own versions and log-probs', async () => {
  const whole = await steered({}, { write: uneven })
  const expected = (await whole.round({ version: 5, want: 2 })).groups
  let at = 3
  const parkAt: Hooks = {
    steer: (live) =>
      new Map(
        live.filter(({ tokens, done }) => !done && tokens >= at).map(({ id }) => [id, 'park' as const]),
      ),
  }
  const playing = await steered(parkAt, { write: uneven })
  const first = await playing.round({ version: 5, want: 2 })
  expect(first.groups).toEqual([])
  const before = parkedIn(playing.parked)
  at = 17
  const second = await playing.round({ version: 6, want: 2 })
  at = 1000
  const third = await playing.round({ version: 7, want: 2 })
  const groups = [...second.groups, ...third.groups].slice(0, 2)
  for (const [g, group] of groups.entries()) {
    const same = expected.find(({ prompt }) => prompt.seed === group.prompt.seed)!
    expect(group.bornVersion).toBe(5)
    group.rollouts.forEach((rollout, r) => {
      const { tokens } = before[g]!.sequences[r]!
      expect([...rollout.tokens.subarray(0, tokens.length)]).toEqual(tokens)
      expect(rollout.tokens).toEqual(same.rollouts[r]!.tokens)
      expect(rollout.behaviourLogprobs).toEqual(same.rollouts[r]!.behaviourLogprobs)
      expect(rollout.reward).toBe(same.rollouts[r]!.reward)
    })
  }
  const pieces = groups.flatMap(({ rollouts }) => rollouts.map(({ segments }) => segments))
  expect(pieces.find((segments) => segments.length === 3)!.map(({ version }) => version)).toEqual([5, 6, 7])
})

test('a limit of tokens holds over all rounds in which a rollout is written', async () => {
  const long = () => 'x'.repeat(100)
  const playing = await steered(
    {
      steer: (live) => new Map(live.filter(({ fresh }) => fresh >= 9).map(({ id }) => [id, 'park' as const])),
    },
    { write: long, maxNewTokens: 40, want: 1 },
  )
  const landed: Group[] = []
  for (let round = 0; landed.length === 0; round++) {
    expect(round).toBeLessThan(8)
    landed.push(...(await playing.round({ version: round })).groups)
  }
  for (const { tokens, finish, segments } of landed[0]!.rollouts) {
    expect(tokens).toHaveLength(40)
    expect(finish).toBe('length')
    expect(segments.length).toBeGreaterThan(2)
  }
})

test('rollouts of a parked group that had ended are not written again, and keep their reward', async () => {
  let seen: LiveRollout[] = []
  let parking = true
  const playing = await steered(
    {
      steer(live) {
        seen = [...live]
        const some = live.some(({ done }) => done)
        return new Map(
          parking && some ? live.filter(({ done }) => !done).map(({ id }) => [id, 'park' as const]) : [],
        )
      },
    },
    { write: uneven, want: 1 },
  )
  expect((await playing.round({ version: 1 })).groups).toEqual([])
  const parked = parkedIn(playing.parked)[0]!
  const done = parked.sequences.flatMap((one, i) => (one.finish ? [i] : []))
  expect(done.length).toBeGreaterThan(0)
  parking = false
  const asked = playing.engine.requests.length
  const [group] = (await playing.round({ version: 2 })).groups
  expect(playing.engine.requests[asked]!.samples).toHaveLength(4 - done.length)
  for (const i of done) {
    const { tokens, segments, behaviourLogprobs } = group!.rollouts[i]!
    expect([...tokens]).toEqual(parked.sequences[i]!.tokens)
    expect(segments).toEqual([{ version: 1, start: 0, length: tokens.length }])
    expect(behaviourLogprobs![0]).toBe(scriptedLogprob(parked.sequences[i]!.seed, 0))
  }
  expect(seen.filter(({ done }) => done).length).toBeGreaterThan(0)
  const again = await steered({}, { write: uneven, want: 1 })
  const [plain] = (await again.round({ version: 1 })).groups
  expect(group!.rollouts.map(({ reward }) => reward)).toEqual(plain!.rollouts.map(({ reward }) => reward))
})

test('a cut rollout ends there and is verified; a dropped one is forgotten', async () => {
  const views: SteerView[] = []
  const wish = (id: string): Steering => (id.startsWith('0.') ? 'cut' : id === '1.2' ? 'drop' : 'keep')
  const playing = await steered(
    {
      steer(live, view) {
        views.push(view)
        return new Map(live.filter(({ tokens }) => tokens >= 4).map(({ id }) => [id, wish(id)]))
      },
    },
    { write: uneven, want: 2 },
  )
  const { groups } = await playing.round()
  expect(groups[0]!.rollouts.map(({ finish }) => finish)).toEqual([
    'aborted',
    'aborted',
    'aborted',
    'aborted',
  ])
  expect(groups[1]!.rollouts).toHaveLength(3)
  expect(groups[1]!.rollouts.every(({ finish }) => finish === 'stop')).toBe(true)
  expect(views[0]).toMatchObject({
    want: 2,
    asks: [
      { live: 4, done: 0 },
      { live: 4, done: 0 },
    ],
  })
})

test('a steering that fails leaves everything to be written to its end', async () => {
  const playing = await steered({
    steer() {
      throw new Error('broken')
    },
  })
  const { groups } = await playing.round()
  expect(groups.flatMap(({ rollouts }) => rollouts)).toHaveLength(8)
  expect(playing.troubles[0]).toMatchObject({ hook: 'steer', message: 'broken' })
})

test('parked groups outlive the node, and are forgotten when they are too old or cannot be read', async () => {
  const park: Hooks = { steer: (live) => new Map(live.map(({ id }) => [id, 'park' as const])) }
  const playing = await steered(park, { want: 2, maxStaleness: 3 })
  await playing.round({ version: 1 })
  const saved = playing.parked.save()!
  const other = await steered({}, { want: 2, maxStaleness: 3 })
  other.parked.load(saved)
  expect(other.parked.length).toBe(2)
  expect(other.parked.save()).toEqual(saved)
  const { groups } = await other.round({ version: 4 })
  expect(groups.map(({ bornVersion }) => bornVersion)).toEqual([1, 1])
  // A task that is not here in that version any more.
  const gone = (readRecord('parked/4', saved) as ParkedGroup[]).map((group) => ({
    ...group,
    prompt: { ...group.prompt, taskVersion: 99 },
  }))
  other.parked.load(writeRecord('parked/4', gone))
  expect((await other.round({ version: 4 })).groups.map(({ bornVersion }) => bornVersion)).toEqual([4, 4])
  other.parked.load(saved)
  expect((await other.round({ version: 5 })).groups.map(({ bornVersion }) => bornVersion)).toEqual([5, 5])
  const former = new TextEncoder().encode('{"format":3,"groups":[]}')
  for (const bad of [new Uint8Array(), former, saved.subarray(1), writeRecord('parked/3', [])]) {
    expect(other.parked.load(bad).dropped).toMatch(/damaged|format/)
    expect(other.parked.length).toBe(0)
  }
})

test('where rollouts can be parked, a node that stops goes on with them when it starts again', async () => {
  const stopping = new AbortController()
  const playing = await steered(
    {
      steer(live) {
        if (live.some(({ tokens }) => tokens > 4)) stopping.abort()
        return new Map()
      },
    },
    { write: uneven },
  )
  expect((await playing.round({ signal: stopping.signal })).groups).toEqual([])
  expect(playing.parked.length).toBe(2)
  const { groups } = await playing.round()
  const plain = await (await steered({}, { write: uneven })).round()
  expect(groups.map(({ rollouts }) => rollouts.map(({ text }) => text))).toEqual(
    plain.groups.map(({ rollouts }) => rollouts.map(({ text }) => text)),
  )
})

test('parked rollouts are not lost if nothing steers any more, and the node can stop', async () => {
  const parking = await steered({ steer: (live) => new Map(live.map(({ id }) => [id, 'park' as const])) })
  await parking.round({ want: 2 })
  const plain = await play({
    write: answer,
    plugins: [plugin('sums', 'selector', sums(), { claims: ['picker'] })],
    host: { selector: { use: 'sums' } },
  })
  plain.parked.load(parking.parked.save()!)
  expect((await plain.round({ want: 3, signal: AbortSignal.abort() })).groups).toEqual([])
  expect(plain.parked.save()).toEqual(parking.parked.save())
  const { groups } = await plain.round({ want: 2 })
  expect(groups.map(({ prompt }) => prompt.seed)).toEqual([0, 1])
})

test('a round that fails returns its parked groups, and they are saved during the round', async () => {
  const list = createParkedGroups()
  const group = (seed: number) => ({
    prompt: { task: 't', taskVersion: 1, seed, difficulty: 0 },
    conditioning: new Int32Array(),
    since: 0,
    sequences: [],
  })
  list.endRound([group(1), group(2), group(3)])
  const all = list.save()
  expect(list.take(2, () => true).map(({ prompt }) => prompt.seed)).toEqual([1, 2])
  expect(list.save()).toEqual(all)
  list.giveBack()
  expect(list.take(3, () => true).map(({ prompt }) => prompt.seed)).toEqual([1, 2, 3])
  list.endRound([])
  expect(list.save()).toBeUndefined()
})

test('a flow plugin sees the log-probs and entropies of what was written so far, parked tokens included', async () => {
  const seen: LiveRollout[] = []
  let parking = true
  const playing = await steered(
    {
      steer(live) {
        seen.push(...live)
        return new Map(
          parking ? live.filter(({ tokens }) => tokens >= 8).map(({ id }) => [id, 'park' as const]) : [],
        )
      },
    },
    { write: uneven },
  )
  await playing.round({ want: 1 })
  const [first] = parkedIn(playing.parked)
  parking = false
  await playing.round({ want: 1 })
  expect(first!.sequences.some(({ tokens }) => tokens.length > 0)).toBe(true)
  expect(seen.some(({ tokens, fresh }) => tokens > fresh && fresh > 0)).toBe(true)
  for (const { id, tokens, logprob, entropy } of seen) {
    const { seed } = first!.sequences[Number(id.split('.')[1])]!
    const wanted = Array.from({ length: tokens }, (_, place) => scriptedLogprob(seed, place))
    expect(logprob).toBeCloseTo(
      wanted.reduce((a, b) => a + b, 0),
      6,
    )
    expect(entropy).toBeCloseTo(0.5 * tokens, 6)
  }
})
