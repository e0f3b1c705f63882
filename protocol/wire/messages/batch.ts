// The bytes of a batch: all that an optimizer step took besides weights and moments, exactly as it took it. A receipt names
// them by hash. Rewards, advantages and importance weights are not among them: who audits the step computes these itself.
//
// Numbers that are not integers are eight bytes each, big-endian; log-probs and entropies four, little-endian, because a
// step that is computed again has to begin with the same bits.

import { Buffer } from 'node:buffer'
import type { Finish, PolicyReference, PromptCoordinates, Segment } from '../../train/index.ts'
import { readCbor, type Value, type Writable, writeCbor } from '../cbor.ts'
import { malformed } from '../fault.ts'
import { digestIn, Fields, list, peerIn } from '../fields.ts'
import { MAX_ROLLOUTS, MAX_SEGMENTS, MAX_TEXT_CHARS, MAX_TOKENS } from '../limits.ts'
import { packDoubles, packFloats, packTokens, unpackDoubles, unpackFloats, unpackTokens } from '../pack.ts'
import { promptBody, readPrompt } from '../prompt.ts'

/** A batch of 128 groups of 8 rollouts of 512 tokens takes 7 MB. */
export const MAX_BATCH_BYTES = 8 << 20
const MAX_BATCH_GROUPS = 512
const MAX_DRAWS = 4096
/** Of one author, one for each time that its gradient was weighed: once in a minibatch. */
const MAX_WEIGHTS = 64
/** Minor version of the form. */
const MINOR = 0

export interface BatchRollout {
  text: string
  finish: Finish
  segments: Segment[]
  tokens: Int32Array
  logprobs?: Float32Array
  entropies?: Float32Array
}

export interface BatchGroup {
  prompt: PromptCoordinates
  /** Peer ID; absent if it is the receipt's author. */
  author?: string
  policy: PolicyReference
  /** The policy version of the receipt's author when it wrote or got the group. */
  born: number
  rollouts: BatchRollout[]
}

/** What the author of a step made of the author of groups in its batch. */
export interface BatchAuthor {
  author: string
  /** Whether its log-probs were believed. */
  isBelieved: boolean
  /** Whether it counted as a newcomer. */
  isNew: boolean
  /** Weights of its gradients, in the order of minibatches. */
  weights: number[]
}

export interface BatchSettings {
  /** Optimizer steps of the batch, and the integers, 0 to 2^32 - 1, that drew the order of its groups. */
  minibatches: number
  draws: number[]
  optimizer: {
    learningRate: number
    beta1: number
    beta2: number
    epsilon: number
    weightDecay: number
    maxGradientNorm: number
  }
  /** Whether foreign gradients were learnt from, or only measured; and whether own ones were measured as well. */
  learnForeign: boolean
  compare: boolean
  /** The usual own part that foreign ones were compared with. */
  meanOwn?: { gradientNorm: number; count: number }
  authors: BatchAuthor[]
}

export interface Batch {
  settings: BatchSettings
  groups: BatchGroup[]
}

const OPTIMIZER = ['learningRate', 'beta1', 'beta2', 'epsilon', 'weightDecay', 'maxGradientNorm'] as const

/** Undefined if the batch is too large, or holds what its bytes cannot say. */
export function encodeBatch(batch: Batch): Uint8Array | undefined {
  try {
    const bytes = writeCbor({
      minor: MINOR,
      settings: settingsBody(batch.settings),
      groups: batch.groups.map(groupBody),
    })
    decodeBatch(bytes)
    return bytes
  } catch {
    return undefined
  }
}

function settingsBody(settings: BatchSettings): Writable {
  const { minibatches, draws, optimizer, learnForeign, compare, meanOwn, authors } = settings
  return {
    ...{ minibatches, draws, learnForeign, compare },
    optimizer: packDoubles(OPTIMIZER.map((name) => optimizer[name])),
    ...(meanOwn && { meanOwn: packDoubles([meanOwn.gradientNorm, meanOwn.count]) }),
    authors: authors.map(({ author, isBelieved, isNew, weights }) => [
      ...[author, isBelieved, isNew],
      packDoubles(weights),
    ]),
  }
}

function groupBody({ prompt, author, policy, born, rollouts }: BatchGroup): Writable {
  return {
    prompt: promptBody(prompt),
    ...(author !== undefined && { author }),
    policy: [Buffer.from(policy.lineage, 'hex'), Buffer.from(policy.tokenizer, 'hex'), policy.version],
    born,
    rollouts: rollouts.map(({ text, finish, segments, tokens, logprobs, entropies }) => {
      if (!text.isWellFormed()) throw new RangeError('a text that UTF-8 cannot hold')
      return [
        ...[text, finish, segments.flatMap(({ version, length }) => [version, length]), packTokens(tokens)],
        ...[logprobs, entropies].map((values) => (values ? packFloats(values) : null)),
      ]
    }),
  }
}

/** Throws WireFault. */
export function decodeBatch(bytes: Uint8Array): Batch {
  if (bytes.length > MAX_BATCH_BYTES) throw malformed('too long')
  const value = readCbor(bytes)
  const minor = value instanceof Map ? value.get('minor') : undefined
  if (typeof minor !== 'number' || minor < MINOR) throw malformed('minor')
  const body = Fields.of(value, minor)
  body.get('minor')
  const batch = {
    settings: readSettings(body.fields('settings')),
    groups: list(body.get('groups'), 1, MAX_BATCH_GROUPS).map((group) => readGroup(Fields.of(group, minor))),
  }
  body.end()
  return batch
}

function readSettings(fields: Fields): BatchSettings {
  const mean = fields.bytes('meanOwn')
  const [gradientNorm, count] = mean ? unpackDoubles(mean, 2) : []
  const optimizer = unpackDoubles(fields.bytes('optimizer'), OPTIMIZER.length)
  const settings: BatchSettings = {
    minibatches: fields.integer('minibatches', 1, MAX_WEIGHTS),
    draws: list(fields.get('draws'), 0, MAX_DRAWS).map((draw) => {
      if (typeof draw !== 'number' || draw < 0 || draw > 0xffff_ffff) throw malformed('draws')
      return draw
    }),
    optimizer: Object.fromEntries(
      OPTIMIZER.map((name, i) => [name, optimizer[i]!]),
    ) as BatchSettings['optimizer'],
    learnForeign: flag(fields.get('learnForeign')),
    compare: flag(fields.get('compare')),
    ...(mean && { meanOwn: { gradientNorm: gradientNorm!, count: count! } }),
    authors: list(fields.get('authors'), 0, MAX_BATCH_GROUPS).map((value) => {
      const [author, isBelieved, isNew, weights] = list(value, 4, 4)
      if (!(weights instanceof Uint8Array) || weights.length > 8 * MAX_WEIGHTS) throw malformed('weights')
      return {
        ...{ author: peerIn(author), isBelieved: flag(isBelieved), isNew: flag(isNew) },
        weights: unpackDoubles(weights, weights.length / 8),
      }
    }),
  }
  fields.end()
  return settings
}

function readGroup(fields: Fields): BatchGroup {
  const author = fields.get('author')
  const [lineage, tokenizer, version] = list(fields.get('policy'), 3, 3)
  if (typeof version !== 'number' || version < 0) throw malformed('version')
  const group: BatchGroup = {
    prompt: readPrompt(fields.fields('prompt')),
    ...(author !== undefined && { author: peerIn(author) }),
    policy: { lineage: digestIn(lineage), tokenizer: digestIn(tokenizer), version },
    born: fields.integer('born', 0),
    rollouts: list(fields.get('rollouts'), 1, MAX_ROLLOUTS).map(readRollout),
  }
  fields.end()
  return group
}

function readRollout(value: Value): BatchRollout {
  const [text, finish, segments, packed, logprobs, entropies] = list(value, 6, 6)
  if (typeof text !== 'string' || text.length > MAX_TEXT_CHARS) throw malformed('text')
  if (finish !== 'stop' && finish !== 'length' && finish !== 'aborted') throw malformed('finish')
  if (!(packed instanceof Uint8Array)) throw malformed('tokens')
  const tokens = unpackTokens(packed)
  if (tokens.length === 0) throw malformed('no tokens')
  const rollout: BatchRollout = { text, finish, segments: readSegments(segments, tokens.length), tokens }
  if (logprobs !== null) {
    rollout.logprobs = unpackFloats(logprobs, tokens.length)
    // A sampler's rounding may leave a probability a little above 1.
    if (!rollout.logprobs.every((value) => value <= 1e-3)) throw malformed('log-probs')
  }
  if (entropies !== null) rollout.entropies = unpackFloats(entropies, tokens.length)
  return rollout
}

function readSegments(value: Value | undefined, tokens: number): Segment[] {
  const flat = list(value, 0, 2 * MAX_SEGMENTS)
  const segments: Segment[] = []
  let start = 0
  for (let i = 0; i < flat.length; i += 2) {
    const [version, length] = [flat[i], flat[i + 1]]
    if (typeof version !== 'number' || version < 0) throw malformed('segment version')
    if (typeof length !== 'number' || length < 1 || length > MAX_TOKENS) throw malformed('segment length')
    segments.push({ version, start, length })
    start += length
  }
  if (start !== tokens) throw malformed('segments do not cover the tokens')
  return segments
}

function flag(value: Value | undefined): boolean {
  if (typeof value !== 'boolean') throw malformed('true or false')
  return value
}
