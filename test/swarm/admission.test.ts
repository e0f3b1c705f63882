// The door and the verifier, without a network: every refusal, who is charged, and fuzz.

import { describe, expect, test } from 'vitest'
import { Admission } from '../../daemon/swarm/admission.ts'
import { Verifier } from '../../daemon/swarm/admission-verify.ts'
import { Ledger } from '../../daemon/swarm/ledger.ts'
import type { REASONS } from '../../daemon/swarm/reasons.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { encodeGroup, type GroupDraft, openFrame, peerIdOf, sealFrame } from '../../protocol/wire/index.ts'
import { mutate, seeded } from '../protocol/wire/arbitrary.ts'
import { testSigner } from '../protocol/wire/cases.ts'
import { codec, draft, stillClock, sums, tasks } from './helpers.ts'

const alice = testSigner(1)
const mallory = testSigner(2)
const self = testSigner(3)
const idOf = (signer: typeof alice) => peerIdOf(signer.publicKey)
const SOURCE = idOf(testSigner(4))

function door({ wanted }: { wanted?: string } = {}) {
  const clock = stillClock()
  const ledger = new Ledger({}, { clock })
  const muted = new Set<string>()
  const admission = new Admission(
    { self: idOf(self), arms: ['base'] },
    {
      tasks,
      ledger,
      clock,
      isMuted: (peer) => muted.has(peer),
      isWanted: (peer) => peer === wanted,
      onImpostor: () => {},
    },
  )
  const verifier = new Verifier({ maxCompletionTokens: 200 }, { tasks, codec, clock, version: () => 7 })
  let sequence = clock.now()
  const frame = (group: GroupDraft, { by = alice, at = clock.now(), seq = ++sequence } = {}) =>
    encodeGroup({ ...group, sequence: seq, createdAt: at }, by)
  const screen = (bytes: Uint8Array, source = SOURCE) => {
    const result = admission.screen(bytes, source)
    return 'refused' in result ? result.refused : 'admitted'
  }
  const verify = (group: GroupDraft, options: Parameters<typeof frame>[1] = {}) => {
    const result = admission.screen(frame(group, options), SOURCE)
    return 'admitted' in result ? verifier.verify(result.admitted) : result
  }
  return { clock, ledger, muted, frame, screen, verify }
}

describe('what is refused at the door, and to whom it counts', () => {
  const cases: Array<
    [keyof typeof REASONS, 'source' | 'author', (d: ReturnType<typeof door>) => Uint8Array]
  > = [
    ['size', 'source', () => new Uint8Array(65_537)],
    ['schema', 'source', () => new TextEncoder().encode('{"reward": 1}')],
    ['version', 'source', ({ frame }) => frame(draft(1)).fill(9, 1, 2)],
    ['kind', 'source', () => sealFrame(77 as never, Uint8Array.of(0xa0), alice)],
    [
      'signature',
      'source',
      ({ frame }) => {
        const bytes = frame(draft(1))
        bytes[40]! ^= 1
        return bytes
      },
    ],
    ['own', 'source', ({ frame }) => frame(draft(1), { by: self })],
    ['heldOut', 'source', ({ frame }) => frame(at({ seed: HELD_OUT_SEED }))],
    ['difficulty', 'source', ({ frame }) => frame(at({ difficulty: 4 }))],
    ['task', 'author', ({ frame }) => frame(at({ task: 'sum' }))],
    ['task', 'author', ({ frame }) => frame(at({ taskVersion: 2 }))],
    ['arm', 'author', ({ frame }) => frame({ ...draft(1), arm: 'hint' })],
    ['stale', 'author', ({ frame, clock }) => frame(draft(1), { at: clock.now() - 2 * 3_600_000 })],
    ['future', 'author', ({ frame, clock }) => frame(draft(1), { at: clock.now() + 2 * 3_600_000 })],
  ]
  const at = (prompt: object): GroupDraft => ({ ...draft(1), prompt: { ...draft(1).prompt, ...prompt } })
  for (const [reason, blamed, make] of cases) {
    test(`${reason}: counted to the ${blamed}`, () => {
      const d = door()
      expect(d.screen(make(d))).toBe(reason)
      const record = d.ledger.get(blamed === 'source' ? SOURCE : idOf(alice))
      expect(record?.refused.get(reason)).toBe(1)
    })
  }

  test('a muted author', () => {
    const d = door()
    d.muted.add(idOf(alice))
    expect(d.screen(d.frame(draft(1)))).toBe('muted')
  })

  test('an hour’s difference of clocks harms nobody', () => {
    const d = door()
    expect(d.screen(d.frame(draft(1), { at: d.clock.now() - 3_600_000 }))).toBe('admitted')
    expect(d.screen(d.frame(draft(2), { at: d.clock.now() + 3_600_000 }))).toBe('admitted')
  })
})

describe('replays and copies', () => {
  test('the same frame, the same sequence number, or the same content is let in once', () => {
    const d = door()
    const bytes = d.frame(draft(1))
    expect(d.screen(bytes)).toBe('admitted')
    expect(d.screen(bytes)).toBe('duplicate')
    expect(d.screen(d.frame(draft(1)))).toBe('duplicate')
    const seq = d.clock.now() + 500
    expect(d.screen(d.frame(draft(2), { seq }))).toBe('admitted')
    expect(d.screen(d.frame(draft(3), { seq }))).toBe('duplicate')
  })

  test('messages out of order are let in, those from before the window are not', () => {
    const d = door()
    const start = 1000
    d.screen(d.frame(draft(1), { seq: start }))
    for (let i = 0; i < 600; i++) {
      d.clock.time += 1000
      expect(d.screen(d.frame(draft(i + 10), { seq: start + 2 + i * 2 }))).toBe('admitted')
    }
    expect(d.screen(d.frame(draft(900), { seq: start + 1101 }))).toBe('admitted')
    expect(d.screen(d.frame(draft(901), { seq: start + 1 }))).toBe('stale')
  })

  test('another author’s look-alike copy has no effect, and the author stays unharmed', () => {
    const d = door()
    expect('group' in d.verify(draft(1))).toBe(true)
    const copy = draft(1)
    for (const rollout of copy.rollouts) rollout.text = ` ${rollout.text.replaceAll(' ', '\u00a0')}\u200b`
    for (const rollout of copy.rollouts) delete rollout.tokens
    for (const rollout of copy.rollouts) delete rollout.behaviourLogprobs
    expect(d.verify(copy, { by: mallory })).toMatchObject({ refused: 'duplicate' })
    expect(d.ledger.get(idOf(alice))?.refused.size).toBe(0)
  })

  test('a copy with a rollout changed is still a copy; an answer of one’s own to the same prompt is not', () => {
    const d = door()
    d.verify(draft(1, { salt: 'a longer text of which copies can be told' }))
    const copy = draft(1, { salt: 'a longer text of which copies can be told' })
    copy.rollouts[0]!.text = 'something else'
    delete copy.rollouts[0]!.tokens
    delete copy.rollouts[0]!.behaviourLogprobs
    expect(d.verify(copy, { by: mallory })).toEqual({ refused: 'copy' })
    const own = draft(1, { salt: 'thoughts of my own, which nobody had before' })
    expect('group' in d.verify(own, { by: mallory })).toBe(true)
  })

  test('a million replays cost little and let nothing in', () => {
    const d = door()
    const bytes = d.frame(draft(1))
    d.screen(bytes)
    const before = process.cpuUsage()
    let admitted = 0
    for (let i = 0; i < 1_000_000; i++) if (d.screen(bytes) === 'admitted') admitted++
    expect(admitted).toBe(0)
    // Of CPU, whatever else the machine does; 0.7 s where this was written.
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1e6).toBeLessThan(5)
  })
})

describe('verification on this node', () => {
  test('prompt, conditioning and rewards are made here, whatever the author’s policy', () => {
    const d = door()
    const result = d.verify(draft(0x1234))
    expect(result).toMatchObject({
      group: {
        author: idOf(alice),
        bornAt: d.clock.now(),
        bornVersion: 7,
        conditioning: codec.encodePrompt(sums.generate({ seed: 0x1234, difficulty: 2 }).question),
        rollouts: [{ reward: 1 }, { reward: 0 }, { reward: 1 }, { reward: 0 }],
      },
    })
    expect('group' in result && result.group.rollouts[0]!.behaviourLogprobs?.length).toBeGreaterThan(5)
  })

  test('under another tokenizer the text is encoded anew and the log-probs are dropped', () => {
    const result = door().verify(draft(5, { tokenizer: 'ee'.repeat(32) }))
    if (!('group' in result)) throw new Error('refused')
    for (const rollout of result.group.rollouts) {
      expect(rollout.behaviourLogprobs).toBeUndefined()
      expect(codec.decodeCompletion(rollout.tokens)).toBe(rollout.text)
      expect(rollout.segments).toEqual([{ version: 3, start: 0, length: rollout.tokens.length }])
    }
  })

  test('tokens that say something else than the text are refused', () => {
    const group = draft(5)
    group.rollouts[1]!.tokens![0] = 65
    expect(door().verify(group)).toEqual({ refused: 'tokens' })
  })

  test('a token hidden from the text is refused', () => {
    const group = draft(5)
    const { tokens } = group.rollouts[0]!
    tokens![3] = 0x1ffff
    expect(door().verify(group)).toEqual({ refused: 'tokens' })
  })

  test('text that does not survive this tokenizer is dropped, the rest stays', () => {
    const d = door()
    const lossy = { ...codec, tokenizer: 'f0'.repeat(32) }
    lossy.encodeCompletion = (text, finish) => codec.encodeCompletion(text.replaceAll('🐝', '?'), finish)
    const verifier = new Verifier(
      { maxCompletionTokens: 200 },
      { tasks, codec: lossy, clock: d.clock, version: () => 0 },
    )
    const group = draft(5)
    group.rollouts[0]!.text = '🐝'
    const shared = { ...group, author: idOf(alice), sequence: 1, createdAt: 1 }
    const result = verifier.verify({ group: shared, id: 'x', bytes: 1 })
    expect('group' in result && result.group.rollouts.length).toBe(3)
    for (const rollout of group.rollouts.slice(0, 3)) rollout.text = '🐝'
    expect(verifier.verify({ group: shared, id: 'x', bytes: 1 })).toEqual({ refused: 'text' })
  })

  test('completions longer than this node’s own are refused', () => {
    const group = draft(5, { salt: 'x'.repeat(300) })
    expect(door().verify(group)).toEqual({ refused: 'long' })
  })

  test('prompts that leave no room for the completion in this node’s model are refused', () => {
    const d = door()
    const group = draft(0x1234)
    const { question } = sums.generate({ seed: 0x1234, difficulty: 2 })
    const longest = Math.max(...group.rollouts.map(({ tokens }) => tokens!.length))
    const shared = { ...group, author: idOf(alice), sequence: 1, createdAt: 1 }
    const received = (context: number) =>
      new Verifier(
        { maxCompletionTokens: 200 },
        { tasks, codec: { ...codec, context }, clock: d.clock, version: () => 0 },
      ).verify({ group: shared, id: 'x', bytes: 1 })
    expect(received(question.length + longest)).toHaveProperty('group')
    expect(received(question.length + longest - 1)).toEqual({ refused: 'long' })
  })

  test('groups whose rewards are all the same are counted and dropped', () => {
    const group = draft(5)
    for (const rollout of group.rollouts) {
      rollout.text = `${rollout.text} no <answer>`.replace(/\d+<\/answer>/, 'no</answer>')
      rollout.tokens = codec.encodeCompletion(rollout.text, 'stop')
      rollout.segments = [{ version: 1, start: 0, length: rollout.tokens.length }]
      delete rollout.behaviourLogprobs
    }
    expect(door().verify(group)).toMatchObject({ refused: 'zeroSignal', rewards: [0, 0, 0, 0] })
  })

  test('a task that throws, or gives a reward that is no number, refuses the group and nothing else', () => {
    const clock = stillClock()
    for (const verify of [
      () => {
        throw new Error('bug')
      },
      () => ({ score: Number.NaN, answer: null, found: 'none' as const }),
      () => ({ score: 7, answer: null, found: 'none' as const }),
    ]) {
      const broken = { find: () => ({ ...sums, verify }) }
      const verifier = new Verifier(
        { maxCompletionTokens: 200 },
        { tasks: broken, codec, clock, version: () => 0 },
      )
      const group = { ...draft(5), author: idOf(alice), sequence: 1, createdAt: 1 }
      expect(verifier.verify({ group, id: 'x', bytes: 1 })).toEqual({ refused: 'broken' })
    }
  })
})

describe('quotas', () => {
  const sources = Array.from({ length: 40 }, (_, i) => idOf(testSigner(10 + i)))
  /** Frames by anybody, which cost what is shared out, and then a look at a signature that does not fit. */
  const crowd = (d: ReturnType<typeof door>, count: number, salt = 0) => {
    const bytes = d.frame(draft(1))
    let looked = 0
    for (let i = 0; i < count; i++) {
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(40, salt * 10_000 + i)
      if (d.screen(bytes, sources[i % sources.length]) === 'signature') looked++
    }
    return looked
  }
  /** How many of twelve groups a second get through beside a crowd. */
  const beside = (d: ReturnType<typeof door>, seconds: number) => {
    crowd(d, 1500)
    let through = 0
    for (let second = 0; second < seconds; second++) {
      d.clock.time += 1000
      crowd(d, 300, second + 1)
      for (let i = 0; i < 12; i++)
        if (d.screen(d.frame(draft(50_000 + second * 12 + i)), idOf(alice)) === 'admitted') through++
    }
    return through
  }

  test('what a crowd passes on is bounded in all, and counted to those who passed it on', () => {
    const d = door()
    const looked = crowd(d, 2000)
    expect(looked).toBeGreaterThan(350)
    expect(looked).toBeLessThan(1300)
    expect(d.ledger.get(idOf(alice))?.refused.get('quota')).toBeUndefined()
    expect(d.ledger.refused.get('quota')).toBe(2000 - looked)
  })

  test('a crowd of strangers leaves a known peer its part, and a stranger little', () => {
    const d = door()
    expect(beside(d, 4)).toBeLessThan(40)
    const other = door()
    const known = other.ledger.touch(idOf(alice))
    known.verified = 100
    known.verifiedSince = 0
    expect(beside(other, 4)).toBe(48)
  })

  test('a stranger that was here before the crowd keeps its part, however large the crowd', () => {
    const d = door()
    const crowd = Array.from({ length: 200 }, (_, i) => `stranger ${i}`)
    let [through, looked, seed] = [0, 0, 0]
    for (let second = 0; second < 10; second++) {
      for (let i = 0; i < 1000; i++) {
        d.clock.time += 1
        // Five a second from each of 200, from the second second on, and from who was there before.
        if (second > 0) {
          const bytes = d.frame(draft(1))
          new DataView(bytes.buffer, bytes.byteOffset).setUint32(40, second * 1000 + i)
          if (d.screen(bytes, crowd[i % 200]) === 'signature') looked++
        }
        if (i % 200 === 0 && d.screen(d.frame(draft(10_000 + seed++)), idOf(alice)) === 'admitted') through++
      }
    }
    expect(through).toBe(50)
    expect(looked).toBeGreaterThan(1000)
  })

  test('whom a person joined counts as a known peer from the first message on', () => {
    expect(beside(door({ wanted: idOf(alice) }), 4)).toBe(48)
  })

  test('an author’s quota holds over all who pass its groups on', () => {
    const d = door()
    let admitted = 0
    for (let i = 0; i < 700; i++) {
      // Slow enough for all sources together: 3.5 seconds, in which an author has 256 and 28.
      d.clock.time += 5
      if (d.screen(d.frame(draft(i)), sources[i % 40]) === 'admitted') admitted++
    }
    expect(admitted).toBeGreaterThan(278)
    expect(admitted).toBeLessThan(290)
    expect(d.ledger.get(idOf(alice))?.refused.get('quota')).toBe(700 - admitted)
  })
})

test('20 000 mutated frames: no throw, nothing let in that the author did not sign, bounded memory', () => {
  const d = door()
  const random = seeded(77)
  const seeds = Array.from({ length: 8 }, (_, i) => d.frame(draft(i + 1)))
  let admitted = 0
  for (let i = 0; i < 20_000; i++) {
    // Fast enough for the quota on signature checks to matter.
    d.clock.time += 0.2
    let bytes = mutate(seeds[i % seeds.length]!, random)
    if (i % 3 === 0 && bytes.length > 0) bytes = mutate(bytes, random)
    if (i % 2 === 0 && bytes.length > 4) bytes.set(seeds[0]!.subarray(0, 4))
    if (d.screen(bytes, SOURCE) === 'admitted') {
      admitted++
      expect(seeds.some((seed) => Buffer.compare(seed, bytes) === 0)).toBe(true)
      expect(openFrame(bytes, 65_536).kind).toBe(1)
    }
  }
  expect(admitted).toBeLessThanOrEqual(seeds.length)
  expect(d.ledger.all().length).toBeLessThanOrEqual(2)
}, 60_000)
