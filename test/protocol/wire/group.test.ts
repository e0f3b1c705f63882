import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SCHEMA_MINOR } from '../../../protocol/wire/frame.ts'
import {
  decodeGroup,
  draftOf,
  encodeGroup,
  HEADER_BYTES,
  isAuthentic,
  KIND,
  MAX_FETCHED_BYTES,
  MAX_GOSSIP_BYTES,
  MAX_SEGMENTS,
  openFrame,
  peerIdOf,
  publicKeyOf,
  readCbor,
  sealFrame,
  WireFault,
  type Writable,
  writeCbor,
} from '../../../protocol/wire/index.ts'
import { group as groupOf } from '../../trainer/groups.ts'
import { anyGroup, mutate, seeded } from './arbitrary.ts'
import { CASES, testSigner } from './cases.ts'

const signer = testSigner()
const author = peerIdOf(signer.publicKey)

function fixture(name: string): Buffer {
  const text = readFileSync(new URL(`fixtures/${name}.hex`, import.meta.url), 'utf8')
  return Buffer.from(text.replace(/\s/g, ''), 'hex')
}

/** A properly signed group frame with whatever body. */
function framed(body: Writable, minor = 0): Uint8Array {
  const sign = signer.sign
  return sealFrame(KIND.group, writeCbor(body), {
    ...signer,
    sign: (message) => {
      message[13 + 2] = minor
      return sign(message)
    },
  }).map((byte, i) => (i === 2 ? minor : byte))
}

/** As it may be written again. */
function plain(value: unknown): Writable {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, of]) => [key, plain(of)]))
  return Array.isArray(value) ? value.map(plain) : (value as Writable)
}

/** The value with each of its leaves changed in turn, and each key left out, by path. */
function* changes(value: Writable, path = ''): Generator<[string, Writable]> {
  const at = (key: string) => (path === '' ? key : `${path}.${key}`)
  if (value instanceof Uint8Array) return yield [path, Uint8Array.from([...value, 1])]
  if (typeof value === 'string') return yield [path, `${value}x`]
  if (typeof value === 'number') return yield [path, value + 1]
  if (Array.isArray(value))
    for (const [i, one] of value.entries())
      for (const [where, changed] of changes(one, at(String(i)))) yield [where, value.with(i, changed)]
  else if (value !== null && typeof value === 'object') {
    for (const [key, one] of Object.entries(value)) {
      const { [key]: _, ...rest } = value
      yield [`${at(key)} left out`, rest]
      for (const [where, changed] of changes(one, at(key))) yield [where, { ...value, [key]: changed }]
    }
    yield [`${at('more')} put in`, { ...value, more: 1 }]
  }
}

const rollout = { text: 'x', finish: 'stop', segments: [] }
const good = {
  prompt: { task: 'a', version: 1, seed: 1, difficulty: 1 },
  arm: 'base',
  policy: { lineage: new Uint8Array(32), tokenizer: new Uint8Array(32), version: 0 },
  rollouts: [rollout, rollout],
  sequence: 1,
  created: 1,
}

function faultOf(bytes: Uint8Array): WireFault | undefined {
  try {
    decodeGroup(openFrame(bytes, MAX_GOSSIP_BYTES))
    return undefined
  } catch (error) {
    if (error instanceof WireFault) return error
    throw error
  }
}

describe('golden fixtures', () => {
  for (const [name, group] of Object.entries(CASES)) {
    test(`${name} is written and read byte for byte`, () => {
      const bytes = fixture(name)
      expect(Buffer.from(encodeGroup(group, signer)).equals(bytes)).toBe(true)
      const frame = openFrame(bytes, MAX_GOSSIP_BYTES)
      expect(isAuthentic(frame)).toBe(true)
      const read = decodeGroup(frame)
      expect(read.author).toBe('12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7')
      expect(read.prompt).toEqual(group.prompt)
      expect(
        read.rollouts.map(({ text, tokens, segments, finish }) => ({ text, tokens, segments, finish })),
      ).toEqual(
        group.rollouts.map(({ text, tokens, segments, finish }) => ({ text, tokens, segments, finish })),
      )
    })
  }
})

test('a completion without tokens, which this version of the wire once allowed, is refused; nobody is charged', () => {
  expect(faultOf(fixture('group-with-tokens'))).toMatchObject({ reason: 'empty', verdict: 'ignore' })
})

test('any group survives the wire, its log-probs to within the stated error', () => {
  fc.assert(
    fc.property(anyGroup, (group) => {
      const frame = openFrame(encodeGroup(group, signer), MAX_FETCHED_BYTES)
      const { author: by, ...read } = decodeGroup(frame)
      expect(by).toBe(author)
      for (const [i, rollout] of group.rollouts.entries()) {
        const got = read.rollouts[i]!.behaviourLogprobs
        expect(got?.length).toBe(rollout.behaviourLogprobs?.length)
        got?.forEach((value, at) => {
          const wanted = Math.max(-64, rollout.behaviourLogprobs![at]!)
          expect(Math.abs(value - wanted)).toBeLessThanOrEqual(1.3e-4 * Math.sqrt(-wanted) + 2e-8)
        })
      }
      const bare = (g: object) =>
        JSON.parse(JSON.stringify(g, (key, value) => (key === 'behaviourLogprobs' ? undefined : value)))
      expect(bare(read)).toEqual(bare(group))
    }),
    { numRuns: 300 },
  )
})

describe('signatures', () => {
  test('any changed bit breaks the signature, the header included', () => {
    const bytes = fixture('group-with-logprobs')
    for (let bit = 0; bit < bytes.length * 8; bit += 5) {
      const forged = Uint8Array.from(bytes)
      forged[bit >> 3]! ^= 1 << (bit & 7)
      let authentic = false
      try {
        authentic = isAuthentic(openFrame(forged, MAX_GOSSIP_BYTES))
      } catch (error) {
        expect(error).toBeInstanceOf(WireFault)
      }
      expect(authentic).toBe(false)
    }
  })

  test('every field is signed: one that is changed, left out or put in leaves no valid signature', () => {
    const bytes = fixture('group-with-logprobs')
    const body = plain(readCbor(bytes.subarray(HEADER_BYTES)))
    const seen: string[] = []
    for (const [path, changed] of changes(body)) {
      seen.push(path)
      const forged = Buffer.concat([bytes.subarray(0, HEADER_BYTES), writeCbor(changed)])
      expect([path, isAuthentic(openFrame(forged, MAX_GOSSIP_BYTES))]).toEqual([path, false])
    }
    // What credit and corrections hang on, by name, so that none can drop out of the body unnoticed.
    for (const field of [
      'prompt.task',
      'prompt.version',
      'prompt.seed',
      'prompt.difficulty',
      'arm',
      'policy.lineage',
      'policy.tokenizer',
      'policy.version',
      'rollouts.0.text',
      'rollouts.0.finish',
      'rollouts.0.segments.0.0',
      'rollouts.0.tokens',
      'rollouts.0.logprobs',
      'sequence',
      'created',
    ])
      expect(seen).toContain(field)
  })

  test('the author and the kind are signed too', () => {
    for (const at of [2, 3, 4, 35]) {
      const forged = Uint8Array.from(fixture('group-with-logprobs'))
      forged[at]! ^= 1
      expect(isAuthentic(openFrame(forged, MAX_GOSSIP_BYTES))).toBe(false)
    }
  })

  test('a frame cannot be passed off as another author’s', () => {
    const bytes = Uint8Array.from(fixture('group-text-only'))
    bytes.set(testSigner(9).publicKey, 4)
    expect(isAuthentic(openFrame(bytes, MAX_GOSSIP_BYTES))).toBe(false)
  })
})

describe('versions', () => {
  test('another major version is ignored, not rejected', () => {
    const bytes = Uint8Array.from(fixture('group-text-only'))
    bytes[1] = 2
    expect(faultOf(bytes)).toMatchObject({ reason: 'version', verdict: 'ignore' })
  })

  test('fields of a newer minor version are skipped; of our own, refused', () => {
    const extended = {
      ...good,
      temperature: 7,
      rollouts: [{ ...rollout, flavour: [1, { deep: true }] }, rollout],
    }
    expect(faultOf(framed(extended, SCHEMA_MINOR + 1))).toBeUndefined()
    expect(isAuthentic(openFrame(framed(extended, SCHEMA_MINOR + 1), MAX_GOSSIP_BYTES))).toBe(true)
    expect(faultOf(framed(extended, 0))).toMatchObject({ reason: 'schema', verdict: 'reject' })
  })
})

describe('forgeries and nonsense', () => {
  const tokens = Uint8Array.of(1, 2)
  const segments = [[0, 2]]
  const cases: Array<[string, string, Writable]> = [
    ['a reward', 'schema', { ...good, reward: 1 }],
    ['an answer key', 'schema', { ...good, prompt: { ...good.prompt, key: '4' } }],
    ['one rollout', 'schema', { ...good, rollouts: [rollout] }],
    ['65 rollouts', 'schema', { ...good, rollouts: Array.from({ length: 65 }, () => rollout) }],
    ['a path for a task', 'schema', { ...good, prompt: { ...good.prompt, task: '../x' } }],
    ['a negative seed', 'schema', { ...good, prompt: { ...good.prompt, seed: -1 } }],
    ['a short digest', 'schema', { ...good, policy: { ...good.policy, lineage: new Uint8Array(31) } }],
    [
      'log-probs without tokens',
      'forged',
      { ...good, rollouts: [{ ...rollout, logprobs: tokens }, rollout] },
    ],
    [
      'too few log-probs',
      'forged',
      { ...good, rollouts: [{ ...rollout, tokens, segments, logprobs: Uint8Array.of(1, 1, 1) }, rollout] },
    ],
    [
      'all-zero log-probs',
      'forged',
      { ...good, rollouts: [{ ...rollout, tokens, segments, logprobs: new Uint8Array(4) }, rollout] },
    ],
    [
      'segments that do not cover the tokens',
      'schema',
      { ...good, rollouts: [{ ...rollout, tokens, segments: [[0, 1]] }, rollout] },
    ],
    ...[
      [-1, 2],
      ['1', 2],
      [0, '2'],
    ].map((segment): [string, string, Writable] => [
      `the segment ${JSON.stringify(segment)}`,
      'schema',
      { ...good, rollouts: [{ ...rollout, tokens, segments: [segment] }, rollout] },
    ]),
    [
      'a token id in too many bytes',
      'schema',
      { ...good, rollouts: [{ ...rollout, tokens: Uint8Array.of(128, 0), segments: [[0, 1]] }, rollout] },
    ],
    ['a string for a number', 'schema', { ...good, sequence: '1' }],
    ['a negative sequence', 'schema', { ...good, sequence: -1 }],
    ['a negative date', 'schema', { ...good, created: -1 }],
    ['a negative version', 'schema', { ...good, policy: { ...good.policy, version: -1 } }],
    ['a prototype for a field', 'schema', { ...good, ['__proto__']: { polluted: true } }],
  ]
  for (const [what, reason, body] of cases) {
    test(`${what} is rejected as ${reason}`, () => {
      expect(faultOf(framed(body))).toMatchObject({ reason, verdict: 'reject' })
    })
  }

  test('the unchanged body is accepted', () => expect(faultOf(framed(good))).toBeUndefined())

  test('a frame above the limit is refused before it is read', () => {
    expect(faultOf(new Uint8Array(MAX_GOSSIP_BYTES + 1))).toMatchObject({ reason: 'size' })
  })

  for (const [what, logprob] of [
    ['not a number', Number.NaN],
    ['infinite', Number.NEGATIVE_INFINITY],
    ['positive', 0.1],
  ] as const) {
    test(`a log-prob that is ${what} cannot be sent`, () => {
      const group = structuredClone(CASES['group-with-logprobs']!)
      group.rollouts[0]!.behaviourLogprobs![1] = logprob
      expect(() => encodeGroup(group, signer)).toThrow(expect.objectContaining({ code: 'E_WIRE' }))
    })
  }
})

test('20 000 mutated frames are read or refused with a fault, and nothing else', () => {
  const random = seeded(20_26)
  const seeds = Object.keys(CASES).map(fixture)
  let accepted = 0
  for (let i = 0; i < 20_000; i++) {
    let bytes: Uint8Array = seeds[i % seeds.length]!
    for (let n = 1 + Math.floor(random() * 3); n > 0 && bytes.length > 0; n--) bytes = mutate(bytes, random)
    // Frames cut off in the header are dull; most mutations should reach the body.
    if (bytes.length > HEADER_BYTES && i % 8 !== 0) bytes.set(seeds[0]!.subarray(0, 4))
    if (faultOf(bytes) === undefined) accepted++
  }
  expect(accepted).toBeGreaterThan(200)
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

test('peer IDs of Ed25519 keys go both ways; other text is no peer ID', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (key) => {
      expect(publicKeyOf(peerIdOf(key))).toEqual(key)
    }),
  )
  for (const text of [
    '',
    'QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N',
    `${author}x`,
    author.replace('2D3', '2d3'),
  ])
    expect(publicKeyOf(text)).toBeUndefined()
})

test('a completion by more versions than a receiver takes is sent, and no token looks fresher than it is', () => {
  const written = groupOf([0, 1])
  const versions = Array.from({ length: MAX_SEGMENTS + 6 }, (_, i) => 10 + 2 * i)
  // Two tokens by each version; the other rollout is by as many as there may be.
  written.rollouts.forEach((one, r) => {
    const own = versions.slice(0, r === 0 ? undefined : MAX_SEGMENTS)
    one.tokens = new Int32Array(2 * own.length).fill(7)
    one.segments = own.map((version, i) => ({ version, start: 2 * i, length: 2 }))
    delete one.behaviourLogprobs
  })
  const policy = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 10 }
  const frame = encodeGroup({ ...draftOf({ ...written, policy }), sequence: 1, createdAt: 1 }, signer)
  const [many, few] = decodeGroup(openFrame(frame, MAX_FETCHED_BYTES)).rollouts
  expect(few!.segments).toEqual(written.rollouts[1]!.segments)
  // The first seven as one, by the oldest of them.
  expect(many!.segments).toEqual([
    { version: 10, start: 0, length: 14 },
    ...written.rollouts[0]!.segments.slice(7),
  ])
  expect(written.rollouts[0]!.segments).toHaveLength(MAX_SEGMENTS + 6)
})
