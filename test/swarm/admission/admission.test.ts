// Admission and the verifier, without a network: every refusal, who is charged, and fuzz.

import { describe, expect, test } from 'vitest'
import { Admission } from '../../../daemon/swarm/admission/admission.ts'
import type { REASONS } from '../../../daemon/swarm/admission/reasons.ts'
import { SeenContent } from '../../../daemon/swarm/admission/seen-content.ts'
import { Verifier } from '../../../daemon/swarm/admission/verify.ts'
import { PeerRecords } from '../../../daemon/swarm/peers/records.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import {
  contentId,
  encodeAccusation,
  encodeGroup,
  type GroupDraft,
  openFrame,
  peerIdOf,
  sealFrame,
} from '../../../protocol/wire/index.ts'
import { mutate, seeded } from '../../protocol/wire/arbitrary.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { codec, draft, stillClock, sums, tasks } from '../groups.ts'

const alice = testSigner(1)
const mallory = testSigner(2)
const self = testSigner(3)
const idOf = (signer: typeof alice) => peerIdOf(signer.publicKey)
const SOURCE = idOf(testSigner(4))

/** With wrong answers only. */
function withoutSignal(group: ReturnType<typeof draft>): ReturnType<typeof draft> {
  const rollouts = group.rollouts.map(({ text, finish }) => {
    const wrong = `${text} no <answer>`.replace(/\d+<\/answer>/, 'no</answer>')
    const tokens = codec.encodeCompletion(wrong, 'stop')
    return { text: wrong, finish, tokens, segments: [{ version: 1, start: 0, length: tokens.length }] }
  })
  return { ...group, rollouts }
}

function setUp({ wanted, carry = false }: { wanted?: string; carry?: boolean } = {}) {
  const clock = stillClock()
  const contents = new SeenContent({}, { clock })
  const impostors: number[] = []
  const records = new PeerRecords({}, { clock })
  const muted = new Set<string>()
  const admission = new Admission(
    { self: idOf(self), arms: ['base'], carry },
    {
      tasks: carry ? { find: () => undefined } : tasks,
      records,
      seenContent: contents,
      clock,
      isMuted: (peer) => muted.has(peer),
      isWanted: (peer) => peer === wanted,
      onImpostor: () => impostors.push(clock.now()),
    },
  )
  const verifier = new Verifier(
    { maxCompletionTokens: 200 },
    { tasks, codec, seenContent: contents, clock, version: () => 7, isKnown: (peer) => peer === wanted },
  )
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
  return { clock, records, muted, impostors, admission, frame, screen, verify }
}

describe('what admission refuses, and who is charged', () => {
  const cases: Array<
    [keyof typeof REASONS, 'source' | 'author', (d: ReturnType<typeof setUp>) => Uint8Array]
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
    ['difficulty', 'author', ({ frame }) => frame(at({ difficulty: 4 }))],
    ['task', 'author', ({ frame }) => frame(at({ task: 'sum' }))],
    ['task', 'author', ({ frame }) => frame(at({ taskVersion: 2 }))],
    ['arm', 'author', ({ frame }) => frame({ ...draft(1), arm: 'hint' })],
    ['stale', 'author', ({ frame, clock }) => frame(draft(1), { at: clock.now() - 2 * 3_600_000 })],
    ['future', 'author', ({ frame, clock }) => frame(draft(1), { at: clock.now() + 2 * 3_600_000 })],
  ]
  const at = (prompt: object): GroupDraft => ({ ...draft(1), prompt: { ...draft(1).prompt, ...prompt } })
  for (const [reason, blamed, make] of cases) {
    test(`${reason}: counted to the ${blamed}`, () => {
      const d = setUp()
      expect(d.screen(make(d))).toBe(reason)
      const record = d.records.get(blamed === 'source' ? SOURCE : idOf(alice))
      expect(record?.refused.get(reason)).toBe(1)
    })
  }

  test('a relay passes on a difficulty that it cannot judge, and refuses what every node can check', () => {
    const relay = setUp({ carry: true })
    expect(relay.screen(relay.frame(at({ difficulty: 99 })))).toBe('admitted')
    expect(relay.screen(relay.frame(at({ seed: HELD_OUT_SEED })))).toBe('heldOut')
  })

  test('a muted author', () => {
    const d = setUp()
    d.muted.add(idOf(alice))
    expect(d.screen(d.frame(draft(1)))).toBe('muted')
  })

  test('clocks that differ by an hour do no harm', () => {
    const d = setUp()
    expect(d.screen(d.frame(draft(1), { at: d.clock.now() - 3_600_000 }))).toBe('admitted')
    expect(d.screen(d.frame(draft(2), { at: d.clock.now() + 3_600_000 }))).toBe('admitted')
  })
})

describe('replays and copies', () => {
  test('a frame is admitted once, and the same content by one author counts once', () => {
    const d = setUp()
    const bytes = d.frame(draft(1))
    expect(d.screen(bytes)).toBe('admitted')
    expect(d.screen(bytes)).toBe('duplicate')
    expect('group' in d.verify(draft(2))).toBe(true)
    expect(d.verify(draft(2))).toEqual({ refused: 'duplicate' })
  })

  test('a copy with damaged tokens that comes first does not keep the original out', () => {
    const d = setUp()
    const spoilt = draft(1)
    for (const { tokens } of spoilt.rollouts) tokens![0] = 65
    expect(d.verify(spoilt, { by: mallory })).toEqual({ refused: 'tokens' })
    expect(d.verify(draft(1))).toMatchObject({ group: { author: idOf(alice) } })
  })

  test('a copy with forged log-probs that comes first does not take the original’s place', () => {
    const d = setUp()
    const forged = draft(1)
    for (const { behaviourLogprobs } of forged.rollouts) behaviourLogprobs!.fill(-20)
    const copy = d.verify(forged, { by: mallory })
    const original = d.verify(draft(1))
    if (!('group' in original)) throw new Error('the original was refused')
    expect(original.group.author).toBe(idOf(alice))
    expect(original.group.rollouts[0]!.behaviourLogprobs![0]).toBeCloseTo(-0.5, 2)
    // Both are kept, each under an id of its own.
    expect('group' in copy && copy.group.id).not.toBe(original.group.id)
  })

  test('a stranger’s near copy of a known author’s group has no effect on the author', () => {
    const d = setUp({ wanted: idOf(alice) })
    const salt = 'a longer text of which copies can be told'
    expect('group' in d.verify(draft(1, { salt }))).toBe(true)
    const copy = draft(1, { salt })
    for (const rollout of copy.rollouts) rollout.text = ` ${rollout.text.replaceAll(' ', '\u00a0')}\u200b`
    for (const rollout of copy.rollouts) delete rollout.tokens
    for (const rollout of copy.rollouts) delete rollout.behaviourLogprobs
    expect(d.verify(copy, { by: mallory })).toEqual({ refused: 'copy' })
    copy.rollouts[0]!.text = 'something else'
    expect(d.verify(copy, { by: mallory })).toEqual({ refused: 'copy' })
    expect(d.records.get(idOf(alice))?.refused.size).toBe(0)
    const own = draft(1, { salt: 'thoughts of my own, which nobody had before' })
    expect('group' in d.verify(own, { by: mallory })).toBe(true)
  })

  test('this node’s own groups are not accepted from peers', () => {
    const d = setUp()
    const texts = draft(1).rollouts.map(({ text }) => text)
    d.admission.sent(d.frame(draft(1), { by: self }), contentId(draft(1).prompt, texts))
    expect(d.verify(draft(1), { by: mallory })).toEqual({ refused: 'duplicate' })
  })

  test('50 groups that come again after 66 000 others are still known', () => {
    const d = setUp()
    const first = Array.from({ length: 50 }, (_, i) => d.frame(draft(i)))
    for (const bytes of first) expect(d.screen(bytes)).toBe('admitted')
    // Five minutes and a half of as many as are let in; the signatures of this many would take too long to make here.
    const { frames } = d.admission as unknown as { frames: { add(mark: string): void } }
    for (let i = 0; i < 66_000; i++) frames.add(`other ${i}`)
    d.clock.time += 330_000
    for (const bytes of first) expect(d.screen(bytes)).toBe('duplicate')
  })

  test('an own group that returns after 66 000 others raises no alarm, but a copied home does', () => {
    const d = setUp()
    const own = d.frame(draft(1), { by: self })
    const texts = draft(1).rollouts.map(({ text }) => text)
    d.admission.sent(own, contentId(draft(1).prompt, texts))
    const { frames } = d.admission as unknown as { frames: { add(mark: string): void } }
    for (let i = 0; i < 66_000; i++) frames.add(`other ${i}`)
    d.clock.time += 330_000
    expect(d.screen(own)).toBe('duplicate')
    expect(d.impostors).toEqual([])
    // Written before the clock was set back, by an earlier run of this node.
    expect(d.screen(d.frame(draft(2), { by: self, at: d.clock.now() + 600_000 }))).toBe('own')
    expect(d.impostors).toEqual([])
    expect(d.screen(d.frame(draft(3), { by: self }))).toBe('own')
    expect(d.impostors.length).toBe(1)
  })

  test('a copied home that writes again what this node has sent raises an alarm', () => {
    const d = setUp()
    const texts = draft(1).rollouts.map(({ text }) => text)
    d.admission.sent(d.frame(draft(1), { by: self }), contentId(draft(1).prompt, texts))
    d.clock.time += 60_000
    expect(d.screen(d.frame(draft(1), { by: self }))).toBe('own')
    expect(d.impostors.length).toBe(1)
  })

  test('a copied home raises an alarm, too, on a machine whose clock is some seconds ahead', () => {
    const d = setUp()
    const texts = draft(1).rollouts.map(({ text }) => text)
    d.admission.sent(d.frame(draft(1), { by: self }), contentId(draft(1).prompt, texts))
    expect(d.screen(d.frame(draft(1), { by: self, at: d.clock.now() + 600_000 }))).toBe('own')
    expect(d.screen(d.frame(draft(2), { by: self, at: d.clock.now() + 20_000 }))).toBe('own')
    expect(d.impostors.length).toBe(2)
  })

  test('a node whose clock was an hour ahead is heard as soon as it is put right', () => {
    const d = setUp()
    for (let i = 0; i < 600; i++) {
      d.clock.time += 1000
      const ahead = d.clock.now() + 3_600_000
      expect(d.screen(d.frame(draft(i), { at: ahead, seq: ahead }))).toBe('admitted')
    }
    const right = d.clock.now()
    expect(d.screen(d.frame(draft(900), { at: right, seq: right }))).toBe('admitted')
  })

  test('a million replays cost little and let nothing in', () => {
    const d = setUp()
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
    const d = setUp()
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
    const result = setUp().verify(draft(5, { tokenizer: 'ee'.repeat(32) }))
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
    expect(setUp().verify(group)).toEqual({ refused: 'tokens' })
  })

  test('a token hidden from the text is refused', () => {
    const group = draft(5)
    const { tokens } = group.rollouts[0]!
    tokens![3] = 0x1ffff
    expect(setUp().verify(group)).toEqual({ refused: 'tokens' })
  })

  test('text that does not survive this tokenizer is dropped, the rest stays', () => {
    const d = setUp()
    const lossy = { ...codec, tokenizer: 'f0'.repeat(32) }
    lossy.encodeCompletion = (text, finish) => codec.encodeCompletion(text.replaceAll('🐝', '?'), finish)
    const verifier = new Verifier(
      { maxCompletionTokens: 200 },
      { tasks, codec: lossy, clock: d.clock, version: () => 0 },
    )
    const group = draft(5)
    group.rollouts[0]!.text = '🐝'
    const shared = { ...group, author: idOf(alice), sequence: 1, createdAt: 1 }
    const result = verifier.verify({ group: shared, source: SOURCE, bytes: 1 })
    expect('group' in result && result.group.rollouts.length).toBe(3)
    for (const rollout of group.rollouts.slice(0, 3)) rollout.text = '🐝'
    expect(verifier.verify({ group: shared, source: SOURCE, bytes: 1 })).toEqual({ refused: 'text' })
  })

  test('an empty answer that was cut off has no tokens here, and is dropped; the rest stays', () => {
    const group = draft(5, { tokenizer: 'f0'.repeat(32) })
    group.rollouts[1] = { text: '', finish: 'length', segments: [] }
    const result = setUp().verify(group)
    expect('group' in result && result.group.rollouts.map(({ tokens }) => tokens.length > 0)).toEqual([
      true,
      true,
      true,
    ])
  })

  test('completions longer than this node’s own are refused', () => {
    const group = draft(5, { salt: 'x'.repeat(300) })
    expect(setUp().verify(group)).toEqual({ refused: 'long' })
  })

  test('texts are measured before they are encoded, and one completion at a time is read', () => {
    const read: number[] = []
    const counting = { ...codec, tokenizer: 'f0'.repeat(32) }
    counting.encodeCompletion = (text, finish) => {
      read.push(text.length)
      return codec.encodeCompletion(text, finish)
    }
    const verifier = new Verifier(
      { maxCompletionTokens: 4096 },
      { tasks, codec: counting, clock: stillClock(), version: () => 0 },
    )
    const admitted = (text: string, count: number) => {
      const group = draft(5)
      const rollouts = Array.from({ length: count }, (_, i) => ({
        text: `${text} ${i} ${group.rollouts[i % 2]!.text}`,
        finish: 'stop' as const,
        segments: [],
      }))
      const shared = { ...group, rollouts, author: idOf(alice), sequence: 1, createdAt: 1 }
      return { group: shared, source: SOURCE, bytes: 1 }
    }
    expect(verifier.verify(admitted('x'.repeat(65_000), 64))).toEqual({ refused: 'long' })
    expect(read).toEqual([])
    const steps = verifier.steps(admitted('x'.repeat(100), 64))
    for (let i = 1; i <= 64; i++) {
      expect(steps.next().done).toBe(false)
      expect(read.length).toBe(i)
    }
  })

  test('prompts that leave no room for the completion in this node’s model are refused', () => {
    const d = setUp()
    const group = draft(0x1234)
    const { question } = sums.generate({ seed: 0x1234, difficulty: 2 })
    const longest = Math.max(...group.rollouts.map(({ tokens }) => tokens!.length))
    const shared = { ...group, author: idOf(alice), sequence: 1, createdAt: 1 }
    const received = (context: number) =>
      new Verifier(
        { maxCompletionTokens: 200 },
        { tasks, codec: { ...codec, context }, clock: d.clock, version: () => 0 },
      ).verify({ group: shared, source: SOURCE, bytes: 1 })
    expect(received(question.length + longest)).toHaveProperty('group')
    expect(received(question.length + longest - 1)).toEqual({ refused: 'long' })
  })

  test('groups whose rewards are all the same are counted and dropped', () => {
    const group = withoutSignal(draft(5))
    expect(setUp().verify(group)).toMatchObject({ refused: 'zeroSignal', rewards: [0, 0, 0, 0] })
  })

  test('groups without a signal are taken from authors that are still unknown, if they have the same tokenizer', () => {
    const of = (tokenizer: string, isUnknown: boolean) => {
      const group = withoutSignal(draft(5))
      const shared = {
        ...group,
        policy: { ...group.policy, tokenizer },
        author: 'stranger',
        sequence: 1,
        createdAt: 0,
      }
      return new Verifier(
        { maxCompletionTokens: 200 },
        { tasks, codec, clock: stillClock(), version: () => 0, isUnknown: () => isUnknown },
      ).verify({ group: shared, source: SOURCE, bytes: 1 })
    }
    expect(of(codec.tokenizer, true)).toMatchObject({ group: { author: 'stranger' } })
    expect(of(codec.tokenizer, false)).toMatchObject({ refused: 'zeroSignal' })
    expect(of('f'.repeat(64), true)).toMatchObject({ refused: 'zeroSignal' })
  })

  test('nobody introduces itself with the text of a known author, although that was of no use', () => {
    const [known, thief] = [idOf(alice), SOURCE]
    const verifier = new Verifier(
      { maxCompletionTokens: 200 },
      {
        ...{ tasks, codec, clock: stillClock(), version: () => 0 },
        isKnown: (author) => author === known,
        isUnknown: (author) => author === thief,
      },
    )
    const group = withoutSignal(draft(5))
    const by = (author: string, of = group) =>
      verifier.verify({ group: { ...of, author, sequence: 1, createdAt: 0 }, source: author, bytes: 1 })
    expect(by(known)).toMatchObject({ refused: 'zeroSignal' })
    expect(by(thief)).toMatchObject({ refused: 'copy' })
    expect(by(thief, withoutSignal(draft(6)))).toHaveProperty('group')
  })

  test('a task that throws or gives a reward that is not a number refuses only that group', () => {
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
      expect(verifier.verify({ group, source: SOURCE, bytes: 1 })).toEqual({ refused: 'broken' })
    }
  })
})

describe('quotas', () => {
  const sources = Array.from({ length: 40 }, (_, i) => idOf(testSigner(10 + i)))
  /** Frames by anybody, which cost what is shared out, and then a look at a signature that does not fit. */
  const crowd = (d: ReturnType<typeof setUp>, count: number, salt = 0) => {
    const bytes = d.frame(draft(1))
    let looked = 0
    for (let i = 0; i < count; i++) {
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(40, salt * 10_000 + i)
      if (d.screen(bytes, sources[i % sources.length]) === 'signature') looked++
    }
    return looked
  }
  /** How many of twelve groups a second get through beside a crowd. */
  const beside = (d: ReturnType<typeof setUp>, seconds: number) => {
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

  test('groups that a crowd passes on are limited in total and charged to the peers that passed them on', () => {
    const d = setUp()
    const looked = crowd(d, 2000)
    expect(looked).toBeGreaterThan(350)
    expect(looked).toBeLessThan(1300)
    expect(d.records.get(idOf(alice))?.refused.get('quota')).toBeUndefined()
    expect(d.records.refused.get('quota')).toBe(2000 - looked)
  })

  test('a crowd of strangers leaves a known peer its part, and a stranger little', () => {
    const d = setUp()
    expect(beside(d, 4)).toBeLessThan(40)
    const other = setUp()
    const known = other.records.touch(idOf(alice))
    known.verified = 100
    known.verifiedSince = 0
    expect(beside(other, 4)).toBe(48)
  })

  test('a stranger that was here before the crowd keeps its part, however large the crowd', () => {
    const d = setUp()
    const crowd = Array.from({ length: 200 }, (_, i) => `stranger ${i}`)
    let [through, looked, seed] = [0, 0, 0]
    for (let second = 0; second < 10; second++) {
      const forged = d.frame(draft(1))
      for (let i = 0; i < 1000; i++) {
        d.clock.time += 1
        // Five a second from each of 200, from the second second on, and from who was there before.
        if (second > 0) {
          const bytes = forged.slice()
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
    expect(beside(setUp({ wanted: idOf(alice) }), 4)).toBe(48)
  })

  test('announcements by a stranger count against it, whoever the named authors are', () => {
    const bytes = setUp().frame(draft(1))
    let salt = 0
    /** Of so many frames, those whose signature was looked at, and which did not fit. */
    const offered = (d: ReturnType<typeof setUp>, source: string) => {
      let looked = 0
      for (let i = 0; i < 540; i++) {
        new DataView(bytes.buffer, bytes.byteOffset).setUint32(40, ++salt)
        const result = d.admission.screen(bytes, source, { fetched: true })
        if ('refused' in result && result.refused === 'signature') looked++
      }
      return looked
    }
    const d = setUp({ wanted: idOf(alice) })
    expect(offered(d, SOURCE)).toBe(512)
    expect(d.records.get(SOURCE)?.refused.get('quota')).toBe(28)
    // All newcomers together have twice that, and who was joined is not one of them.
    expect(offered(d, 'another stranger') + offered(d, 'a third')).toBe(512)
    expect(offered(d, idOf(alice))).toBe(540)
  })

  test('what a node asks for soon after a crash, and may not take yet, counts against nobody', () => {
    const d = setUp({ wanted: idOf(alice) })
    d.admission.resume(d.clock.time - 1000)
    const found = Array.from({ length: 200 }, (_, i) => {
      const result = d.admission.screen(d.frame(draft(i)), idOf(alice), { fetched: true })
      return 'refused' in result ? result.refused : 'taken'
    })
    expect(found.filter((one) => one === 'taken')).toHaveLength(8)
    expect(new Set(found)).toEqual(new Set(['taken', 'quota']))
    expect(d.records.refused.get('quota')).toBeUndefined()
  })

  test('an author’s quota holds over all peers that pass on its groups', () => {
    const d = setUp()
    let admitted = 0
    for (let i = 0; i < 700; i++) {
      // Slow enough for all sources together: 3.5 seconds, in which an author has 256 and 28.
      d.clock.time += 5
      if (d.screen(d.frame(draft(i)), sources[i % 40]) === 'admitted') admitted++
    }
    expect(admitted).toBeGreaterThan(278)
    expect(admitted).toBeLessThan(290)
    expect(d.records.get(idOf(alice))?.refused.get('quota')).toBe(700 - admitted)
  })
})

test('20 000 mutated frames: nothing throws, nothing unsigned is admitted, memory is bounded', () => {
  const d = setUp()
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
  expect(d.records.all().length).toBeLessThanOrEqual(2)
}, 60_000)

describe('an accusation', () => {
  const accuse = (at: number, { by = alice, size = 9 } = {}) =>
    encodeAccusation(
      { lineage: 'ab'.repeat(32), accused: idOf(mallory), receipt: '5a'.repeat(32), size, createdAt: at },
      by,
    )

  test('is taken once, whoever delivers it', () => {
    const { screen, clock } = setUp()
    const bytes = accuse(clock.now())
    expect([screen(bytes), screen(bytes), screen(bytes, 'another')]).toEqual([
      ...['admitted', 'duplicate', 'duplicate'],
    ])
  })

  test('is refused if it is not signed, old, this node’s own, or by somebody muted', () => {
    const { screen, clock, muted } = setUp()
    const forged = accuse(clock.now())
    forged[50]! ^= 1
    expect(screen(forged)).toBe('signature')
    expect(screen(accuse(clock.now() - 3 * 3_600_000))).toBe('stale')
    expect(screen(accuse(clock.now(), { by: self }))).toBe('own')
    muted.add(idOf(mallory))
    expect(screen(accuse(clock.now(), { by: mallory }))).toBe('muted')
  })

  test('costs its author and the peer that delivers it a share, so that none floods a swarm', () => {
    const { screen, clock } = setUp()
    const all = Array.from({ length: 20 }, (_, size) => screen(accuse(clock.now(), { size: size + 1 })))
    expect(all.filter((said) => said === 'admitted')).toHaveLength(8)
    // Identities are free, but the peer is the same.
    const others = Array.from({ length: 100 }, (_, i) =>
      screen(accuse(clock.now(), { by: testSigner(100 + i) })),
    )
    expect(others.filter((said) => said === 'admitted')).toHaveLength(12)
  })
})
