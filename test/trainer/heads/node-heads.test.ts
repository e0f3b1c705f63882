// The daemon's part in the exchange of heads, with peers that are played.

import { describe, expect, test } from 'vitest'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { createNodeHeads, type HeadsParts } from '../../../daemon/node/heads/heads.ts'
import type { JoinedPeers } from '../../../daemon/policy/trained.ts'
import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { createProbation, type Probation } from '../../../daemon/trainer/heads/probation.ts'
import { layoutOf } from '../../../daemon/trainer/heads/vector.ts'
import { NO_PHASES, type WeightsMet } from '../../../protocol/api/index.ts'
import type { Head } from '../../../protocol/wire/index.ts'
import { SPEC } from '../../engine/model.ts'

const layout = layoutOf(SPEC)
const filled = (value: number): Weights =>
  Object.fromEntries(layout.tensors.map(({ name, length }) => [name, new Float32Array(length).fill(value)]))
const firstOf = (weights: Weights): number => weights[layout.tensors[0]!.name]![0]!

interface Played {
  value: number
  own: number
  bytes?: Uint8Array
  tasks?: readonly string[]
  /** Of its head when it answers. */
  age?: number
  /** It has made no head yet. */
  isSilent?: boolean
  /** It fetches this node’s heads. */
  isTaking?: boolean
  /** It asked this node for a head since this node asked it. */
  hasAsked?: boolean
  /** It answers nothing. */
  isBusy?: boolean
  /** The limit for this hour keeps this node from fetching its weights. */
  isHeld?: boolean
  /** Its weights are on their way until then. */
  sent?: Promise<void>
}

/** A node whose weights are all one value, and peers with such weights. Accuracy is a function of the value. */
function play(
  peers: Record<string, Played>,
  options: {
    accuracy?: (value: number) => number
    trusts?: boolean
    teaches?: boolean
    joined?: JoinedPeers
    probation?: Probation
    parts?: number
    mostPerHour?: number
    canTry?: boolean
  } = {},
) {
  const { accuracy = (value) => value / 100, trusts = true, teaches = false, parts = 1 } = options
  const { canTry = true } = options
  const state = {
    weights: filled(1),
    version: 0,
    own: 0,
    isOn: true,
    trusts,
    /** Called while the trainer gives its weights, or takes others. */
    async onWeights() {},
    async onReplace() {},
    offers: [] as unknown[],
    lines: [] as string[],
    blamed: [] as string[],
    recorded: [] as number[],
    alarms: [] as string[],
    receipts: [] as unknown[],
    now: 0,
    timers: [] as { at: number; run(): void }[],
  }
  const fetching: Promise<unknown>[] = []
  const headOf = (peer: string): Head => {
    const { value, own, age = 0, tasks: names = [] } = peers[peer]!
    const tasks = names.map((name) => ({ name, difficulty: 0, accuracy: 0.4 }))
    const facts = { lineage: 'l', hash: `${peer} ${value}`, size: 0, version: 1, tasks, createdAt: 0, age }
    return { ...facts, author: peer, own, foreign: 0 }
  }
  /** So many rewards as have this mean, nearly. */
  const answer: HeadsParts['answer'] = async ({ signal }, model) => {
    signal?.throwIfAborted()
    if (!canTry) throw new Error('there is no question')
    const right = Math.round(1000 * accuracy((model as unknown as { value: number }).value))
    const rewards = Array.from({ length: 1000 }, (_, i) => (i < right ? 1 : 0))
    return [{ task: 'sums', questions: 1000 / parts, rewards }]
  }
  const heads = createNodeHeads({
    self: 'me',
    isUnknown: (author) => author === 'unknown',
    policy: {
      ...{ spec: SPEC, lineage: 'l', initial: filled(1) },
      trainer: {
        async weights() {
          await state.onWeights()
          return state.weights
        },
      },
      reference: () => ({ version: state.version }),
      async replace(weights: Weights) {
        await state.onReplace()
        state.weights = weights
      },
      under: async (weights: Weights, run: (model: never) => unknown) =>
        run({ value: firstOf(weights) } as never),
    } as unknown as HeadsParts['policy'],
    swarm: () => ({
      peers: () => Object.keys(peers).map((id) => ({ id, connected: true })) as never,
      heads: {
        bytes: { in: 0, out: 0 },
        held: 2,
        offer: (...given) => void state.offers.push(given),
        withdraw() {
          state.offers = []
        },
        isTaking: (peer) => peers[peer]!.isTaking === true,
        hasAsked: (peer) => peers[peer]!.hasAsked === true,
        blame: (peer) => void state.blamed.push(peer),
        async ask(peer) {
          if (peers[peer]!.isBusy) return undefined
          return peers[peer]!.isSilent ? null : headOf(peer)
        },
        async fetch({ author }, { onHeld }) {
          const { value, bytes, sent, isHeld } = peers[author]!
          if (isHeld) {
            onHeld?.()
            return undefined
          }
          await sent
          const fetched = bytes ?? pack(new Float32Array(layout.size).fill(value - 1))
          fetching.push(Promise.resolve())
          return fetched as Uint8Array<ArrayBuffer>
        },
      },
    }),
    joined: options.joined,
    probation: options.probation ?? createProbation(),
    isOn: () => state.isOn,
    hasReceipts: () => false,
    mayTeach: () => teaches,
    learningRate: () => 1e-3,
    batchGroups: () => 8,
    mostPerHour: () => options.mostPerHour ?? 0,
    mustWait: () => false,
    isTrusted: () => state.trusts,
    learnt: () => ({ own: state.own, foreign: 0 }),
    canTry: () => canTry,
    questions: () => 100,
    chosen: () => [{ name: 'sums', difficulty: 0 }],
    partsOf: () => parts,
    answer,
    record: ({ accuracy: found }) => void state.recorded.push(found),
    alarm: (message) => void state.alarms.push(message),
    audits: {
      joined: async (heads) => void state.receipts.push(...heads),
      made: async () => {},
      cost: () => undefined,
    },
    tasks: () => [],
    phases: NO_PHASES,
    random: () => 0.5,
    now: () => state.now,
    after(ms, run) {
      const timer = { at: state.now + ms, run }
      state.timers.push(timer)
      return () => void state.timers.splice(state.timers.indexOf(timer), 1)
    },
    wake() {},
    log: (line) => void state.lines.push(line),
  })
  /** Lets fetches arrive, and exchanges again. */
  const settle = async () => {
    for (let i = 0; i < 20; i++) await Promise.resolve()
    await heads.exchange()
  }
  const pass = async (ms: number) => {
    state.now += ms
    for (const timer of state.timers.filter(({ at }) => at <= state.now)) {
      state.timers.splice(state.timers.indexOf(timer), 1)
      timer.run()
    }
    await settle()
    await settle()
  }
  /** Steps of its own that lead from 1 to a value, from one head to the next. The peer has no head before. */
  const step = async (value: number) => {
    const [peer] = Object.values(peers)
    peer!.isSilent = true
    await heads.exchange()
    for (let i = 0; i < 20; i++) await Promise.resolve()
    peer!.isSilent = false
    state.weights = filled(value)
    state.version += 4
  }
  return { heads, state, pass, settle, step }
}

describe('two nodes with as much work behind them', () => {
  test('average their weights', async () => {
    const { heads, state, settle, step } = play({ a: { value: 3, own: 0 } })
    await step(2)
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBeCloseTo(2.5, 4)
    // One head of the peer has come for one own.
    expect(heads.nodes).toBe(2)
    expect(heads.isJoined('a')).toBe(true)
  })

  test('divide the groups of others', async () => {
    const { heads, settle, step } = play({ a: { value: 3, own: 0 } })
    const elsewhere = (author: string) =>
      Array.from({ length: 200 }, (_, seed) =>
        heads.isTrainedElsewhere({ author, prompt: { task: 'sums', taskVersion: 1, seed, difficulty: 0 } }),
      ).filter(Boolean).length
    expect(elsewhere('stranger')).toBe(0)
    await step(2)
    await heads.exchange()
    await settle()
    expect(elsewhere('stranger')).toBeGreaterThan(70)
    expect(elsewhere('stranger')).toBeLessThan(130)
    expect(elsewhere('a')).toBe(200)
  })

  test('each get to know an author by all its groups', async () => {
    const { heads, settle, step } = play({ a: { value: 3, own: 0 } })
    await step(2)
    await heads.exchange()
    await settle()
    const prompt = { task: 'sums', taskVersion: 1, difficulty: 0 }
    const all = Array.from({ length: 50 }, (_, seed) => ({ author: 'unknown', prompt: { ...prompt, seed } }))
    expect(all.filter(heads.isTrainedElsewhere)).toEqual([])
  })

  test('learn nothing from, and lose nothing by, a head of before their last steps', async () => {
    const { heads, state, settle, step } = play({ a: { value: 1, own: 0, age: 900 } })
    await step(2)
    state.now += 1000
    await heads.exchange()
    await settle()
    expect(heads.isJoined('a')).toBe(true)
    expect(firstOf(state.weights)).toBeCloseTo(2, 4)
  })

  test('average before the first step of either, whichever makes its head first', async () => {
    const peers: Record<string, Played> = { a: { value: 1, own: 0, isSilent: true } }
    const { heads, settle } = play(peers)
    await heads.exchange()
    await settle()
    peers.a!.isSilent = false
    await settle()
    expect(heads.isJoined('a')).toBe(false)
    peers.a!.hasAsked = true
    await settle()
    await settle()
    expect(heads.isJoined('a')).toBe(true)
  })

  test('do not train on, or send, groups while the first weights are on their way', async () => {
    let send = () => {}
    const sent = new Promise<void>((resolve) => {
      send = resolve
    })
    const { heads, settle } = play({ a: { value: 1, own: 0, sent, hasAsked: true } })
    expect([heads.isAveraged('a'), heads.isRead()]).toEqual([false, true])
    await heads.exchange()
    expect([heads.isAveraged('a'), heads.isJoined('a'), heads.isRead()]).toEqual([true, false, false])
    send()
    await settle()
    expect([heads.isAveraged('a'), heads.isJoined('a')]).toEqual([true, true])
  })

  test('train on the groups of one that has no weights for them, from the first exchange on', async () => {
    const { heads, settle } = play({ a: { value: 1, own: 0, isSilent: true } })
    await heads.exchange()
    await settle()
    expect([heads.isAveraged('a'), heads.isRead()]).toEqual([false, true])
  })

  test('do not send each other groups while both average, but for one in 16', async () => {
    const { heads, state, settle, step } = play({ a: { value: 3, own: 0, isTaking: true } })
    const sent = () => Array.from({ length: 16 }, heads.isRead).filter(Boolean).length
    expect(sent()).toBe(16)
    await step(2)
    await heads.exchange()
    await settle()
    expect(sent()).toBe(1)
    state.isOn = false
    expect(sent()).toBe(16)
  })

  test('a head that was joined is not fetched again', async () => {
    const { heads, state, settle, step } = play({ a: { value: 3, own: 0 } })
    await step(2)
    await heads.exchange()
    await settle()
    state.version += 10
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBeCloseTo(2.5, 4)
  })
})

test('a node whose groups teach it nothing learns from a peer, again and again', async () => {
  const peers = { a: { value: 3, own: 0 } }
  const { heads, state, settle } = play(peers)
  const reached = [1]
  for (const value of [3, 4]) {
    peers.a.value = value
    await heads.exchange()
    await settle()
    reached.push(firstOf(state.weights))
    const nothing = { prompt: { task: 'sums', difficulty: 1 }, rollouts: [{ reward: 0 }] } as never
    for (let i = 0; i < 32; i++) heads.ownGroup(nothing)
  }
  expect(reached[1]).toBeGreaterThan(1)
  expect(reached[2]).toBeGreaterThan(reached[1]!)
  expect(state.version).toBe(0)
})

test('a peer that the user does not trust is not asked, and gets what it asks for', async () => {
  const { heads, state, settle } = play({ a: { value: 3, own: 0 } }, { trusts: false })
  await heads.exchange()
  await settle()
  expect(firstOf(state.weights)).toBe(1)
  expect(state.offers).toHaveLength(1)
})

test("a stranger's head may teach where the user allows it, and is never averaged", async () => {
  const { heads, state, settle } = play({ a: { value: 3, own: 0 } }, { trusts: false, teaches: true })
  expect(heads.teaching()).toEqual([])
  await heads.exchange()
  await settle()
  const [teacher] = heads.teaching()
  expect(teacher!.peer).toBe('a')
  expect(firstOf(teacher!.weights())).toBeCloseTo(3, 2)
  expect(firstOf(state.weights)).toBe(1)
  expect(heads.nodes).toBe(1)
  state.isOn = false
  expect(heads.teaching()).toEqual([])
})

test("a stranger's malformed head costs its sender, and is no teacher", async () => {
  const { heads, state, settle } = play(
    { a: { value: 3, own: 0, bytes: new Uint8Array(3) } },
    { trusts: false, teaches: true },
  )
  await heads.exchange()
  await settle()
  expect(heads.teaching()).toEqual([])
  expect(state.blamed).toEqual(['a'])
})

test('a head that is malformed is counted, costs its sender, and changes nothing', async () => {
  const { heads, state, settle } = play({ a: { value: 3, own: 0, bytes: new Uint8Array(3) } })
  await heads.exchange()
  await settle()
  expect(firstOf(state.weights)).toBe(1)
  expect(heads.info()?.refused).toBe(1)
  expect(state.blamed).toEqual(['a'])
})

test('a head of absurd norm costs its sender, and no trial', async () => {
  const far = pack(new Float32Array(layout.size).fill(1000))
  const { heads, state, settle } = play({ a: { value: 3, own: 500, bytes: far } })
  await heads.exchange()
  await settle()
  expect(firstOf(state.weights)).toBe(1)
  expect(state.blamed).toEqual(['a'])
  expect(heads.info()?.trial).toBeUndefined()
})

test('a node with peers to average with says once what the limit on weights allows', async () => {
  const { heads, state, settle } = play({ a: { value: 3, own: 0 } }, { mostPerHour: 1e7 })
  for (let i = 0; i < 3; i++) {
    state.version += 2
    await settle()
  }
  expect(state.lines).toEqual([
    expect.stringMatching(/^limits\.weights_mb_per_hour = 10 allows one peer's weights/),
  ])
  expect(heads.info()?.limit).toEqual({ mostPerHour: 1e7, held: 2 })
  const alone = play({}, { mostPerHour: 1e7 })
  await alone.settle()
  expect(alone.state.lines).toEqual([])
})

describe('a newcomer', () => {
  test('stands where the swarm stands after one exchange', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } })
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBeCloseTo(30, 3)
    expect(state.lines.at(-1)).toMatch(/^caught up with 1 peer: held-out 1\.0 % → 30\.0 %$/)
    expect(await heads.meet('a')).toMatchObject({ outcome: 'caught up' })
  })

  /** The peer is at 30 when a trial of three parts begins, and somewhere else before it ends. */
  const goneOn = async (value: number, probation = createProbation()) => {
    const peers = { a: { value: 30, own: 500 } }
    const played = play(peers, { parts: 3, accuracy: (at) => 0.4 + at / 2000, probation })
    Object.assign(played.state, { version: 60, own: 60 })
    await played.step(2)
    await played.heads.exchange()
    await played.settle()
    expect(played.heads.info()).toMatchObject({ trying: { how: 'caught up' } })
    peers.a.value = value
    played.state.version += 4
    await played.settle()
    await played.settle()
    expect(played.heads.info()).toMatchObject({ trial: { how: 'caught up', isTaken: true } })
    return firstOf(played.state.weights)
  }

  test('stands where the peer stands at the end of a trial, if own steps could have led as far meanwhile', async () => {
    expect(await goneOn(32)).toBeCloseTo(32, 1)
  })

  test('stands where the peer stood at the beginning of a trial, if it has gone on farther than that', async () => {
    expect(await goneOn(50)).toBeCloseTo(30, 1)
  })

  test('stands where a suspect stood, whose weights count only as they were tried', async () => {
    const suspect = { peer: 'a', until: 0, offences: 1, isSuspect: true }
    expect(await goneOn(32, createProbation({ peers: [suspect] }))).toBeCloseTo(30, 1)
  })

  test('gives weights back that answer fewer of its questions right', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { accuracy: (value) => 1 / value })
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBe(1)
    expect(heads.info()?.trial).toMatchObject({ isTaken: false, fallen: { task: 'sums' } })
    expect(heads.isJoined('a')).toBe(false)
  })

  test('does not pull back a node that has learnt', async () => {
    const { heads, state, settle } = play({ a: { value: 0, own: 0 } })
    Object.assign(state, { own: 500, version: 60 })
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBe(1)
    expect(heads.isJoined('a')).toBe(false)
  })

  test('waits for the first head of a peer that was alone', async () => {
    const peers: Record<string, Played> = { a: { value: 30, own: 500, isSilent: true } }
    const { heads, settle, pass } = play(peers)
    const met = heads.meet('a')
    await settle()
    await pass(3000)
    peers.a!.isSilent = false
    await pass(3000)
    await settle()
    expect(await met).toMatchObject({ outcome: 'caught up' })
  })

  test('makes only the heads that own steps make due while the weights of the peer that it joins are on their way', async () => {
    const sent = Promise.withResolvers<void>()
    const { heads, state, settle, pass } = play({ a: { value: 30, own: 500, sent: sent.promise } })
    const met = heads.meet('a')
    await settle()
    state.version += 1
    for (let i = 0; i < 10; i++) await pass(2000)
    expect(state.offers).toHaveLength(2)
    sent.resolve()
    await settle()
    await settle()
    expect(await met).toMatchObject({ outcome: 'caught up' })
  })

  test('makes a head every two seconds at most while those of the peer that it joins do not count', async () => {
    const { heads, state, settle, pass } = play({ a: { value: 0, own: 0 } })
    Object.assign(state, { own: 500, version: 60 })
    void heads.meet('a')
    for (let i = 0; i < 20; i++) await settle()
    expect(state.offers).toHaveLength(1)
    await pass(2000)
    for (let i = 0; i < 20; i++) await settle()
    expect(state.offers).toHaveLength(2)
  })

  test('hears that a peer has no weights for its model, once it has had time to make some', async () => {
    const { heads, settle, pass } = play({ a: { value: 30, own: 500, isSilent: true } })
    let outcome: string | undefined
    void heads.meet('a').then((met) => {
      outcome = met.outcome
    })
    await settle()
    await pass(3000)
    expect(outcome).toBeUndefined()
    await pass(60_000)
    expect(outcome).toBe('other lineage')
  })

  test.each<[string, Partial<Played>, WeightsMet]>([
    ['did not answer', { isBusy: true }, { outcome: 'not yet', why: 'no answer' }],
    ['has weights that the limit holds back', { isHeld: true }, { outcome: 'not yet', why: 'limit' }],
    ['has far less work behind its weights', { own: 200 }, { outcome: 'not yet', why: 'behind' }],
  ])('hears that a peer %s, once that has been so for a while', async (_, is, outcome) => {
    const { heads, state, settle, pass } = play({ a: { value: 30, own: 500, ...is } })
    Object.assign(state, { own: 500, version: 60 })
    let met: WeightsMet | undefined
    void heads.meet('a').then((found) => {
      met = found
    })
    await settle()
    await pass(3000)
    expect(met).toBeUndefined()
    await pass(40_000)
    await settle()
    expect(met).toEqual(outcome)
  })

  test('hears of a new attempt when it joins a peer again', async () => {
    const peers = { a: { value: 30, own: 500 } }
    const { heads, settle } = play(peers, { accuracy: (value) => 0.5 / value })
    await heads.exchange()
    await settle()
    await settle()
    expect(await heads.meet('a')).toMatchObject({ outcome: 'given back' })
    peers.a = { value: 0.5, own: 500 }
    const met = heads.meet('a')
    await settle()
    await settle()
    expect(await met).toMatchObject({ outcome: 'caught up', after: 1 })
  })
})

describe('a peer that has drifted apart, as by other tasks,', () => {
  /** This node has moved by 1 from head to head; the peer is 18 away. */
  const apart = async (accuracy: (value: number) => number) => {
    const peers = { a: { value: 20, own: 0 } }
    const played = play(peers, { accuracy })
    await played.step(2)
    await played.heads.exchange()
    await played.settle()
    return { ...played, peer: peers.a }
  }

  test('is met in the middle, if no own task loses by it', async () => {
    const { heads, state } = await apart(() => 0.4)
    expect(firstOf(state.weights)).toBeCloseTo(11, 3)
    expect(heads.info()?.trial).toMatchObject({ how: 'merged', isTaken: true, peers: ['a'] })
    expect(heads.isJoined('a')).toBe(true)
  })

  test('is in the receipt with the share that it was tried with, beside the weights when the trial began', async () => {
    const { state } = await apart(() => 0.4)
    expect(state.receipts).toMatchObject([{ author: 'a', hash: 'a 20', share: 0.5 }])
    expect((state.receipts as { beside: Float32Array }[])[0]!.beside[0]).toBe(2)
  })

  test('is in the receipt with the hash of its head, even if a user joins the peer again during the trial', async () => {
    const { heads, state, settle, step } = play(
      { a: { value: 20, own: 0 } },
      { parts: 2, accuracy: () => 0.4 },
    )
    await step(2)
    await heads.exchange()
    await settle()
    expect(heads.info()?.trying).toBeDefined()
    void heads.meet('a')
    await settle()
    expect(state.receipts).toMatchObject([{ author: 'a', hash: 'a 20' }])
  })

  test('takes the place of own weights, if there is more work behind it and it answers better', async () => {
    const { heads, state, settle, step } = play({ a: { value: 20, own: 1 } })
    await step(2)
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBeCloseTo(20, 1)
    expect(heads.info()).toMatchObject({ trial: { how: 'caught up', isTaken: true } })
  })

  /** A peer that was averaged, and is far away now. */
  const drifted = async (own: number, accuracy: (value: number) => number) => {
    const peers = { a: { value: 2.1, own: 0 } }
    const played = play(peers, { accuracy })
    await played.step(2)
    await played.heads.exchange()
    await played.settle()
    expect(played.heads.isJoined('a')).toBe(true)
    peers.a = { value: 20, own }
    if (own === 0) played.state.own = 1
    played.state.version += 4
    await played.heads.exchange()
    await played.settle()
    return played
  }

  test('that is as good with more work behind it has to be better at first, and may then be as good', async () => {
    const { heads, state, settle } = await drifted(1, () => 0.4)
    expect(state.lines.at(-1)).toBe(
      'refused weights of 1 peer: held-out 40.0 % → 40.0 %, which may be chance',
    )
    for (let i = 0; i < 4; i++) {
      expect(firstOf(state.weights)).toBeLessThan(5)
      state.version += 4
      await heads.exchange()
      await settle()
    }
    expect(firstOf(state.weights)).toBeCloseTo(20, 1)
  })

  test('that is worse with more work behind it is tried after 4 exchanges, then after 8', async () => {
    const { heads, state, settle } = await drifted(1, (value) => (value > 10 ? 0.38 : 0.4))
    const trials = () => state.lines.filter((line) => line.startsWith('refused')).length
    expect(heads.info()).toMatchObject({ out: [] })
    const seen: number[] = []
    for (let i = 0; i < 14; i++) {
      state.version += 4
      await heads.exchange()
      await settle()
      seen.push(trials())
    }
    expect(seen).toEqual([1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3])
    expect(firstOf(state.weights)).toBeLessThan(5)
  })

  test('and was never averaged is met in the middle, if it is no better twice with more work behind it', async () => {
    const { heads, state, settle, step } = play({ a: { value: 20, own: 1 } }, { accuracy: () => 0.4 })
    await step(2)
    await heads.exchange()
    await settle()
    expect(heads.info()?.trying).toBeUndefined()
    for (let i = 0; i < 4; i++) {
      state.version += 4
      await heads.exchange()
      await settle()
    }
    await settle()
    expect(heads.info()?.trial).toMatchObject({ how: 'merged', isTaken: true })
  })

  test('is left alone, if there is less work behind it: it will catch up', async () => {
    const { heads, state } = await drifted(0, () => 0.4)
    expect(firstOf(state.weights)).toBeLessThan(3)
    expect(heads.info()).toMatchObject({ out: [] })
    expect(heads.info()?.trying).toBeUndefined()
    expect(heads.info()?.trial).toBeUndefined()
  })

  test.each([0, 1])(
    'that does other tasks is met in the middle, whoever has more work behind it (own %i)',
    async (own) => {
      const { heads, state, settle, step } = play(
        { a: { value: 20, own: 1 - own, tasks: ['sorting'] } },
        { accuracy: () => 0.4 },
      )
      state.own = own
      await step(2)
      await heads.exchange()
      await settle()
      expect(heads.info()?.trial).toMatchObject({ how: 'merged', isTaken: true })
    },
  )

  test('is tried in a quarter of the time at most', async () => {
    const accuracy = (): number => {
      played.state.now += 500
      return 0.4
    }
    const played = play({ a: { value: 20, own: 0 } }, { parts: 4, accuracy })
    await played.step(2)
    await played.heads.exchange()
    await played.settle()
    expect(played.state.timers.map(({ at }) => at - played.state.now)).toEqual([3000])
  })

  test('is refused if one loses, and not asked again for 50 steps', async () => {
    const { heads, state, settle, peer } = await apart((value) => (value < 5 ? 0.41 : 0.3))
    expect(firstOf(state.weights)).toBe(2)
    expect(state.lines.at(-1)).toBe('refused weights of 1 peer: sums fell from 41.0 % to 30.0 %')
    expect(heads.info()).toMatchObject({ out: ['a'], peers: [] })
    expect(state.recorded).toEqual([])
    for (const [steps, times] of [
      [40, 1],
      [20, 2],
    ] as const) {
      state.version += steps
      peer.value += 1
      await heads.exchange()
      await settle()
      expect(state.lines.filter((line) => line.startsWith('refused'))).toHaveLength(times)
    }
  })

  test('that was merged is averaged from then on, without trials', async () => {
    const { state, heads, settle, peer } = await apart(() => 0.4)
    state.version += 10
    peer.value = 12
    await heads.exchange()
    await settle()
    expect(state.lines.filter((line) => line.startsWith('merged'))).toHaveLength(1)
    expect(heads.info()?.peers).toMatchObject([{ peer: 'a', isClipped: false }])
  })

  test('that was merged and is still far has the benefit of the doubt again', async () => {
    const accuracy = (value: number) => (value < 12 ? 0.4 : 0.39)
    const { state, heads, settle, peer } = await apart(accuracy)
    state.version += 10
    peer.value += 1
    await heads.exchange()
    await settle()
    expect(state.lines.filter((line) => line.startsWith('merged'))).toHaveLength(2)
  })

  test('though it was near a moment ago, is refused if the mean falls at all', async () => {
    const peers = { a: { value: 2.1, own: 0 } }
    const { heads, state, settle, step } = play(peers, {
      accuracy: (value) => (value < 5 ? 0.4 : 0.39),
    })
    await step(2)
    await heads.exchange()
    await settle()
    expect(heads.info()?.trial).toBeUndefined()
    peers.a.value = 20
    state.version += 4
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ out: ['a'], trial: { how: 'merged', isTaken: false } })
  })
})

describe('a node without questions to try weights on', () => {
  const canTry = false

  test('averages with a peer that is far ahead', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { canTry })
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBeGreaterThan(1)
    expect(heads.isJoined('a')).toBe(true)
    expect(heads.info()?.trial).toBeUndefined()
  })

  test('averages with a peer that has drifted apart, no farther than its own steps allow', async () => {
    const { heads, state, settle, step } = play({ a: { value: 20, own: 0 } }, { canTry })
    await step(2)
    await heads.exchange()
    await settle()
    expect(firstOf(state.weights)).toBeCloseTo(2 + 2 / 2, 3)
  })

  test('takes no weights of a peer that did harm, however long ago', async () => {
    const probation = createProbation()
    probation.put(['a'], 0)
    const peers = { a: { value: 3, own: 0 }, b: { value: 3, own: 0 } }
    const { heads, state, settle } = play(peers, { canTry, probation })
    state.version = 1000
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ out: ['a'], peers: [{ peer: 'b' }] })
  })

  test('goes on to average with a peer that stays too far away', async () => {
    const peers = { a: { value: 20, own: 0 } }
    const { heads, state, settle, step } = play(peers, { canTry })
    await step(2)
    for (let i = 0; i < 5; i++) {
      await heads.exchange()
      await settle()
      peers.a.value += 10
      state.version += 4
      state.weights = filled(firstOf(state.weights) + 1)
    }
    expect(heads.info()).toMatchObject({ out: [], peers: [{ peer: 'a', isClipped: true }] })
  })
})

describe('weights that do harm later', () => {
  const group = (reward: number) =>
    ({ prompt: { task: 'sums', difficulty: 1 }, rollouts: [{ reward }] }) as never

  test('raise an alarm; going back puts the peers out whose heads came since, and they return by a trial', async () => {
    const peers = { a: { value: 3, own: 0 } }
    const { heads, state, settle, step } = play(peers, { accuracy: () => 0.4 })
    await step(2)
    await heads.exchange()
    await settle()
    for (let i = 0; i < 100; i++) heads.ownGroup(group(0.4 + 0.2 * (i % 2)))
    expect(state.alarms).toEqual([])
    for (let i = 0; i < 200; i++) heads.ownGroup(group(0.1 + 0.2 * (i % 2)))
    expect(state.alarms[0]).toMatch(/^the reward of own rollouts in sums .* fell from 0\.5/)
    heads.goBack(undefined)
    expect(heads.info()).toMatchObject({ out: ['a'], peers: [] })
    state.version += 60
    peers.a.value = 4
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ out: [], trial: { how: 'merged', isTaken: true } })
  })

  test('are nothing that a node alone looks for', () => {
    const { heads, state } = play({})
    for (let i = 0; i < 400; i++) heads.ownGroup(group(i < 200 ? 1 : 0))
    expect(state.alarms).toEqual([])
  })
})

describe('a node that starts again', () => {
  const stopped = async () => {
    const { heads, settle } = play({ a: { value: 30, own: 500 } })
    await heads.exchange()
    await settle()
    return heads.joined()
  }

  test('knows whose work is in its weights, and does not catch up with it again', async () => {
    const joined = await stopped()
    expect(joined).toEqual({
      groups: 500,
      peers: [{ peer: 'a', heads: 1, groups: 500, version: 1, at: 0 }],
    })
    const { heads, state, settle } = play({ a: { value: 40, own: 510 } }, { joined: joined! })
    expect(heads.isJoined('a')).toBe(true)
    await heads.exchange()
    await settle()
    expect(state.lines).toEqual([])
  })

  test('tries a peer that did harm before, without a step of its own since', async () => {
    const probation = createProbation()
    probation.put(['a'], 0)
    const { heads, state, settle } = play({ a: { value: 1.001, own: 0 } }, { probation })
    state.version = 100
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ trial: { how: 'merged', peers: ['a'] } })
  })

  test('tries a peer that has drifted apart meanwhile', async () => {
    const { heads, state, settle } = play({ a: { value: 20, own: 0 } })
    state.version = 100
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ trial: { how: 'merged', peers: ['a'] } })
  })

  test('forgets it with the weights that a roll-back takes away', async () => {
    const { heads } = play({}, { joined: (await stopped())! })
    heads.goBack(undefined)
    expect(heads.joined()).toBeUndefined()
    expect(heads.nodes).toBe(1)
  })
})

test('a node that no longer exchanges weights takes its own back from peers', async () => {
  const { heads, state } = play({ a: { value: 3, own: 0 } })
  await heads.exchange()
  state.isOn = false
  await heads.exchange()
  expect(state.offers).toEqual([])
})

test('weights whose trial fails are given back', async () => {
  const fails = (value: number): number => {
    if (value > 1) throw new Error('the engine failed')
    return value
  }
  const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { accuracy: fails })
  await heads.exchange()
  await settle()
  expect(firstOf(state.weights)).toBe(1)
  expect(state.lines.at(-1)).toBe(
    'refused weights of 1 peer: the model cannot answer with them: the engine failed',
  )
  expect(heads.info()).toMatchObject({ out: ['a'] })
})

test('a trial ends without a verdict where own weights cannot answer', async () => {
  const fails = (): number => {
    throw new Error('the engine failed')
  }
  const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { accuracy: fails })
  await heads.exchange()
  await expect(settle()).rejects.toThrow('the engine failed')
  expect(firstOf(state.weights)).toBe(1)
  expect(heads.info()).toMatchObject({ out: [] })
  expect(heads.info()?.trying).toBeUndefined()
})

describe('a trial', () => {
  /** One of four parts, each of which takes so long. */
  function playLong(takeMs: number) {
    const parts = { takeMs }
    const played = play(
      { a: { value: 30, own: 500 } },
      {
        parts: 4,
        accuracy() {
          played.state.now += parts.takeMs
          return 0.4
        },
      },
    )
    return { ...played, parts }
  }

  /** Tells nothing from anything, until the last part. */
  const even = () => 0.4
  /** Nor does this, but the last part tells. */
  const better = (value: number) => (value < 15 ? 0.4 : 0.43)

  test('goes on a part at a time between own steps, and keeps what they learnt', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { parts: 4, accuracy: better })
    await heads.exchange()
    for (const fraction of [0.25, 0.5, 0.75]) {
      await settle()
      expect(heads.info()).toMatchObject({ trying: { how: 'caught up', peers: ['a'], fraction }, peers: [] })
      state.weights = filled(firstOf(state.weights) + 1)
      state.version += 1
    }
    await settle()
    expect(firstOf(state.weights)).toBeCloseTo(33, 3)
    expect(heads.info()).toMatchObject({ trial: { how: 'caught up', isTaken: true }, peers: [{ peer: 'a' }] })
    expect(heads.info()?.trying).toBeUndefined()
    expect(state.lines).toEqual([
      'trying weights of 1 peer while training goes on: 0 % of the questions answered',
      expect.stringMatching(/^caught up with 1 peer/),
    ])
    expect(state.recorded).toHaveLength(1)
  })

  test('ends as soon as the mean has clearly risen', async () => {
    const { heads, settle } = play({ a: { value: 30, own: 500 } }, { parts: 9 })
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ trial: { how: 'caught up', isTaken: true }, peers: [{ peer: 'a' }] })
  })

  test('ends as soon as the mean has clearly fallen', async () => {
    const accuracy = (value: number) => 0.5 / value
    const { heads, settle } = play({ a: { value: 30, own: 500 } }, { parts: 9, accuracy })
    await heads.exchange()
    await settle()
    expect(heads.info()).toMatchObject({ trial: { isTaken: false }, trying: { how: 'merged' } })
  })

  test('takes half of the time at most, and wakes the node for its next part', async () => {
    const { heads, state, settle, parts } = playLong(500)
    const fraction = () => heads.info()?.trying?.fraction
    await heads.exchange()
    await settle()
    expect([fraction(), state.timers.map(({ at }) => at - state.now)]).toEqual([0.25, [1000]])
    parts.takeMs = 0
    state.now += 999
    await settle()
    expect(fraction()).toBe(0.25)
    state.now += 1
    await settle()
    expect(fraction()).toBe(0.5)
  })

  test('of a peer that drifted apart lets others be averaged meanwhile', async () => {
    const peers = { b: { value: 20, own: 0 }, a: { value: 2, own: 0 } }
    const { heads, state, settle, step } = play(peers, { parts: 9, accuracy: () => 0.4 })
    await step(2)
    await heads.exchange()
    await settle()
    for (let i = 0; i < 3; i++) {
      peers.a.value = firstOf(state.weights) + 1
      state.version += 4
      await settle()
    }
    expect(heads.info()).toMatchObject({ trying: { how: 'merged', peers: ['b'] } })
    expect(heads.isJoined('a')).toBe(true)
    expect(heads.isJoined('b')).toBe(false)
    expect(firstOf(state.weights)).toBeGreaterThan(2.5)
  })

  test('of a peer far ahead lets near ones be averaged meanwhile, and offers own weights as before', async () => {
    const { heads, state, settle } = play(
      { a: { value: 30, own: 500 }, b: { value: 2, own: 0 } },
      { parts: 9, accuracy: even },
    )
    await heads.exchange()
    await settle()
    const offers = state.offers.length
    state.version += 4
    await settle()
    await settle()
    expect(state.offers.length).toBe(offers + 1)
    expect(heads.isJoined('b')).toBe(true)
    expect(heads.info()).toMatchObject({ trying: { peers: ['a'] } })
  })

  test('ends with a roll-back', async () => {
    const { heads, settle } = play({ a: { value: 30, own: 500 } }, { parts: 9, accuracy: even })
    await heads.exchange()
    await settle()
    heads.goBack(undefined)
    expect(heads.info()?.trying).toBeUndefined()
  })

  test('ends where its peer is found to have forged', async () => {
    const { heads, settle } = play({ a: { value: 30, own: 500 } }, { parts: 9, accuracy: even })
    await heads.exchange()
    await settle()
    heads.refuse('b')
    expect(heads.info()?.trying).toMatchObject({ peers: ['a'] })
    heads.refuse('a')
    expect(heads.info()?.trying).toBeUndefined()
  })

  test('ends without a verdict where its peer is no longer trusted', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { parts: 4, accuracy: better })
    await heads.exchange()
    await settle()
    state.trusts = false
    for (let i = 0; i < 4; i++) await settle()
    expect([firstOf(state.weights), heads.info()?.trial]).toEqual([1, undefined])
  })

  test('does not begin with a peer that is found to have forged a moment before', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { parts: 9, accuracy: even })
    await heads.exchange()
    let asked = 0
    state.onWeights = async () => {
      if (asked++ === 1) heads.refuse('a')
    }
    await settle()
    expect(asked).toBeGreaterThan(1)
    expect(heads.info()?.trying).toBeUndefined()
  })

  test('takes nothing of a peer that is found to have forged at its end', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { accuracy: better })
    await heads.exchange()
    state.onWeights = async () => {
      if (state.lines.some((line) => line.startsWith('caught up'))) heads.refuse('a')
    }
    await settle()
    expect(heads.info()).toMatchObject({ trial: { isTaken: false }, out: ['a'] })
    expect(firstOf(state.weights)).toBe(1)
    expect(state.recorded).toEqual([])
  })

  test('makes up for nothing that its peer is found to have done while its weights are taken', async () => {
    const probation = createProbation()
    const options = { accuracy: better, probation }
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, options)
    await heads.exchange()
    state.onReplace = async () => heads.refuse('a')
    await settle()
    expect([probation.isSuspect('a'), probation.isOut('a', 0)]).toEqual([true, true])
  })

  test('goes on within half an hour after the machine slept in a part', async () => {
    const { heads, state, pass, settle, parts } = playLong(8 * 3_600_000)
    await heads.exchange()
    await settle()
    parts.takeMs = 0
    expect(state.timers.map(({ at }) => at - state.now)).toEqual([30 * 60_000])
    await pass(30 * 60_000)
    expect(heads.info()?.trying?.fraction).toBeGreaterThan(0.25)
  })

  test('goes on where the clock was put back', async () => {
    const { heads, state, settle } = play({ a: { value: 30, own: 500 } }, { parts: 4, accuracy: even })
    state.now = 8 * 3_600_000
    await heads.exchange()
    await settle()
    state.now = 0
    await settle()
    expect(heads.info()?.trying?.fraction).toBe(0.5)
  })

  test('ends without a verdict when the node stops', async () => {
    const { heads, settle } = play({ a: { value: 30, own: 500 } }, { parts: 9, accuracy: even })
    await heads.exchange()
    await settle()
    await heads.exchange(AbortSignal.abort())
    expect(heads.info()).toMatchObject({ out: [] })
    expect([heads.info()?.trying, heads.info()?.trial]).toEqual([undefined, undefined])
  })

  test('is what a user who joins the peer hears of, if it takes long', async () => {
    const { heads, settle, pass } = play({ a: { value: 30, own: 500 } }, { parts: 100, accuracy: even })
    const met = heads.meet('a')
    await settle()
    await settle()
    await pass(120_000)
    expect(await met).toEqual({ outcome: 'on trial' })
  })
})

test('weights of a peer that the user no longer trusts are not joined, if they come later', async () => {
  let send = () => {}
  const sent = new Promise<void>((resolve) => {
    send = resolve
  })
  const { heads, state, settle, step } = play({ a: { value: 3, own: 0, sent } })
  await step(2)
  await heads.exchange()
  state.trusts = false
  send()
  await settle()
  await settle()
  expect(firstOf(state.weights)).toBe(2)
})

test('the head of a suspect is tried, also if it comes while the trainer gives its weights', async () => {
  const probation = createProbation()
  probation.put(['b'], 0)
  let send = () => {}
  const sent = new Promise<void>((resolve) => {
    send = resolve
  })
  const peers = { a: { value: 1.001, own: 0 }, b: { value: 3, own: 0, sent } }
  const { heads, state } = play(peers, { probation, parts: 4, accuracy: () => 0.4 })
  state.version = 100
  await heads.exchange()
  for (let i = 0; i < 20; i++) await Promise.resolve()
  state.onWeights = async () => {
    send()
    for (let i = 0; i < 20; i++) await Promise.resolve()
  }
  await heads.exchange()
  expect(heads.info()).toMatchObject({ trying: { peers: ['b'] } })
  expect(heads.isJoined('b')).toBe(false)
})

test('a far head that waits while a suspect is tried is tried after it, though its peer makes no other', async () => {
  const probation = createProbation()
  probation.put(['b'], 0)
  const peers: Record<string, Played> = { f: { value: 20, own: 0 }, b: { value: 2, own: 0 } }
  const { heads, state, settle } = play(peers, { probation })
  state.version = 100
  peers.b!.isSilent = peers.f!.isSilent = true
  await heads.exchange()
  await settle()
  peers.b!.isSilent = peers.f!.isSilent = false
  const tried = new Set<string>()
  for (let i = 0; i < 6; i++) {
    state.weights = filled(firstOf(state.weights) + 0.5)
    state.version += 4
    await settle()
    await settle()
    for (const peer of heads.info()?.trial?.peers ?? []) tried.add(peer)
  }
  expect([...tried]).toEqual(expect.arrayContaining(['b', 'f']))
})

test('a roll-back suspects a peer whose head was joined after the checkpoint, at the same step', async () => {
  const { heads, settle, step } = play({ a: { value: 3, own: 0 } })
  await step(2)
  const saved = heads.joined()
  await heads.exchange()
  await settle()
  expect(heads.isJoined('a')).toBe(true)
  heads.goBack(saved)
  expect(heads.info()?.out).toEqual(['a'])
})

test('after a roll-back nothing that was on its way is joined until it is fetched again', async () => {
  const { heads, state, settle } = play({ a: { value: 3, own: 0 } })
  await heads.exchange()
  heads.goBack(undefined)
  state.version += 1
  await settle()
  expect([firstOf(state.weights), heads.isJoined('a')]).toEqual([1, false])
  await settle()
  expect(heads.isJoined('a')).toBe(true)
})
