// Encodes a group for this node's own database. Unlike the wire format, it keeps every value bit for bit, trusts its
// writer, and may change with the schema. A digest at the front detects damage.

import { createHash } from 'node:crypto'
import { decode, encode } from 'cborg'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { bufferOf, bytesOf, packTokens, unpackTokens } from './group-bytes.ts'
import { type Extras, extrasOf, type PackedExtras, packExtras, unpackExtras } from './group-extras.ts'

/** First element of every record; raised, with a migration, when the layout changes. */
const LAYOUT = 1
/** Layout 1, followed by the data of plugins and episodes. Groups without such data use layout 1. */
const WITH_EXTRAS = 2
/** Damage here is an accident, not an attack: 8 bytes of SHA-256 miss one in 10^19. */
const DIGEST_BYTES = 8

export function encodeGroup(group: Group): Uint8Array {
  const { prompt, policy } = group
  const extras = extrasOf(group)
  const body = encode([
    extras ? WITH_EXTRAS : LAYOUT,
    packHex(group.id),
    [prompt.task, prompt.taskVersion, prompt.seed, prompt.difficulty],
    packTokens(group.conditioning),
    group.author,
    [packHex(policy.lineage), packHex(policy.tokenizer), policy.version],
    group.arm,
    group.bornAt,
    group.bornVersion,
    group.rollouts.map(packRollout),
    ...(extras ? [packExtras(extras)] : []),
  ])
  const record = new Uint8Array(DIGEST_BYTES + body.length)
  record.set(digest(body))
  record.set(body, DIGEST_BYTES)
  return record
}

/** Throws an Error if the record is damaged or of another layout. */
export function decodeGroup(record: Uint8Array): Group {
  const body = record.subarray(DIGEST_BYTES)
  if (Buffer.compare(digest(body), record.subarray(0, DIGEST_BYTES)) !== 0)
    throw new Error('the record is damaged')
  const [layout, id, prompt, conditioning, author, policy, arm, bornAt, bornVersion, ...rest] = decode(body)
  if (layout !== LAYOUT && layout !== WITH_EXTRAS)
    throw new Error(`the record has layout ${layout}, not ${LAYOUT} or ${WITH_EXTRAS}`)
  const [rollouts, packed] = rest as [Packed[], PackedExtras | undefined]
  const extras: Partial<Extras> = layout === WITH_EXTRAS ? unpackExtras(packed!) : {}
  return {
    id: unpackHex(id),
    prompt: { task: prompt[0], taskVersion: prompt[1], seed: prompt[2], difficulty: prompt[3] },
    conditioning: unpackTokens(conditioning),
    author,
    policy: { lineage: unpackHex(policy[0]), tokenizer: unpackHex(policy[1]), version: policy[2] },
    arm,
    rollouts: rollouts.map((rollout, i) => ({ ...unpackRollout(rollout), ...extras.rollouts?.[i] })),
    bornAt,
    bornVersion,
    ...extras.group,
  }
}

type Packed = [
  text: string | Uint8Array,
  tokens: Uint8Array,
  behaviourLogprobs: Uint8Array | null,
  entropies: Uint8Array | null,
  segments: number[],
  finish: Rollout['finish'],
  reward: Uint8Array,
  parts: [names: string[], values: Uint8Array] | null,
]

function packRollout(rollout: Rollout): Packed {
  const { text, behaviourLogprobs, entropies, rewardParts } = rollout
  return [
    // UTF-8 cannot hold a lone surrogate, so such a text is stored as UTF-16.
    text.isWellFormed() ? text : Buffer.from(text, 'utf16le'),
    packTokens(rollout.tokens),
    behaviourLogprobs ? bytesOf(behaviourLogprobs) : null,
    entropies ? bytesOf(entropies) : null,
    rollout.segments.flatMap(({ version, start, length }) => [version, start, length]),
    rollout.finish,
    // As eight bytes: CBOR's shortest form would turn -0 into 0.
    bytesOf(Float64Array.of(rollout.reward)),
    rewardParts ? [Object.keys(rewardParts), bytesOf(Float64Array.from(Object.values(rewardParts)))] : null,
  ]
}

function unpackRollout(packed: Packed): Rollout {
  const [text, tokens, behaviourLogprobs, entropies, segments, finish, reward, parts] = packed
  const rollout: Rollout = {
    text: typeof text === 'string' ? text : Buffer.from(text).toString('utf16le'),
    tokens: unpackTokens(tokens),
    segments: [],
    finish,
    reward: new Float64Array(bufferOf(reward))[0]!,
  }
  for (let i = 0; i < segments.length; i += 3) {
    rollout.segments.push({ version: segments[i]!, start: segments[i + 1]!, length: segments[i + 2]! })
  }
  if (behaviourLogprobs) rollout.behaviourLogprobs = new Float32Array(bufferOf(behaviourLogprobs))
  if (entropies) rollout.entropies = new Float32Array(bufferOf(entropies))
  if (parts) {
    const values = new Float64Array(bufferOf(parts[1]))
    rollout.rewardParts = Object.fromEntries(parts[0].map((name, i) => [name, values[i]!]))
  }
  return rollout
}

/** Stores digests as bytes and anything else as text. */
function packHex(text: string): string | Uint8Array {
  return /^(?:[0-9a-f]{2})+$/.test(text) ? Buffer.from(text, 'hex') : text
}

function unpackHex(packed: string | Uint8Array): string {
  return typeof packed === 'string' ? packed : Buffer.from(packed).toString('hex')
}

function digest(body: Uint8Array): Uint8Array {
  return createHash('sha256').update(body).digest().subarray(0, DIGEST_BYTES)
}
