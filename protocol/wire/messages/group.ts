// A group on the wire: its prompt's coordinates, policy, conditioning and completions. Question, answer key and
// rewards are not sent; the receiver computes them.

import { Buffer } from 'node:buffer'
import { WaggleError } from '../../errors.ts'
import type { Finish, Group, PolicyReference, PromptCoordinates, Segment } from '../../train/index.ts'
import { readCbor, type Writable, writeCbor } from '../cbor.ts'
import { malformed, WireFault } from '../fault.ts'
import { Fields, list } from '../fields.ts'
import { authorOf, type Frame, isAuthentic, KIND, openFrame, type Signer, sealFrame } from '../frame.ts'
import {
  ARM_NAME,
  MAX_FETCHED_BYTES,
  MAX_ROLLOUTS,
  MAX_SEGMENTS,
  MAX_TEXT_CHARS,
  MAX_TOKENS,
  MIN_ROLLOUTS,
} from '../limits.ts'
import { packLogprobs, packTokens, unpackLogprobs, unpackTokens } from '../pack.ts'
import { promptBody, readPrompt } from '../prompt.ts'

export interface SharedRollout {
  /** Decoded by the author's tokenizer, without special tokens. */
  text: string
  finish: Finish
  /** Token ids under the author's tokenizer. */
  tokens?: Int32Array
  /** Only together with tokens, one for each, rounded to 16 bits. */
  behaviourLogprobs?: Float32Array
  /** In order and without gaps from token 0; they cover all tokens, if there are any. */
  segments: Segment[]
}

/** A group as its author claims it. Only its form has been verified, and its signature where documented. */
export interface SharedGroup {
  prompt: PromptCoordinates
  arm: string
  policy: PolicyReference
  rollouts: SharedRollout[]
  /** Peer ID of the signing key. */
  author: string
  /** Increases with each message of an author, not necessarily by one. */
  sequence: number
  /** By the author's clock, in ms since the epoch. */
  createdAt: number
}

export type GroupDraft = Omit<SharedGroup, 'author' | 'sequence' | 'createdAt'>

/** A group that this node wrote, before it is signed. */
export type OwnGroupDraft = GroupDraft & { /** Content id. Not sent: receivers compute it. */ id: string }

/** The part of a verified group that peers may see, and its content id. */
export function draftOf(group: Group): OwnGroupDraft {
  return {
    id: group.id,
    prompt: group.prompt,
    arm: group.arm,
    policy: group.policy,
    rollouts: group.rollouts.map(({ text, finish, tokens, behaviourLogprobs, segments }) => ({
      text,
      finish,
      tokens,
      ...(behaviourLogprobs && { behaviourLogprobs }),
      segments: asFewAsTaken(segments),
    })),
  }
}

/**
 * If the weights change often during a long completion, it may have more segments than a receiver accepts. The first
 * ones are then merged into one, with the oldest version among them, so that no token looks fresher than it is.
 */
function asFewAsTaken(segments: Segment[]): Segment[] {
  if (segments.length <= MAX_SEGMENTS) return segments
  const split = segments.length - MAX_SEGMENTS + 1
  const first = segments.slice(0, split)
  const version = Math.min(...first.map((one) => one.version))
  const length = first.reduce((sum, one) => sum + one.length, 0)
  return [{ version, start: 0, length }, ...segments.slice(split)]
}

/** Returns a signed frame. Decodes it again first, and throws E_WIRE if a receiver would refuse the group. */
export function encodeGroup(
  group: GroupDraft & Pick<SharedGroup, 'sequence' | 'createdAt'>,
  signer: Signer,
  { isAuthentic: fits = isAuthentic }: { isAuthentic?: ((frame: Frame) => boolean) | undefined } = {},
): Uint8Array {
  try {
    const bytes = sealFrame(KIND.group, writeCbor(bodyOf(group)), signer)
    const frame = openFrame(bytes, MAX_FETCHED_BYTES)
    decodeGroup(frame)
    if (!fits(frame)) throw new WireFault('signature', 'the signature does not fit the key')
    return bytes
  } catch (cause) {
    throw new WaggleError('E_WIRE', `this group cannot be sent: ${(cause as Error).message}`, { cause })
  }
}

/** Reads a frame of kind `group`. Throws WireFault. Does not check the signature: see isAuthentic. */
export function decodeGroup(frame: Frame): SharedGroup {
  if (frame.kind !== KIND.group) throw malformed('not a group')
  const body = Fields.of(readCbor(frame.body), frame.minor)
  const policy = body.fields('policy')
  const group: SharedGroup = {
    prompt: readPrompt(body.fields('prompt')),
    arm: body.name('arm', ARM_NAME),
    policy: {
      lineage: policy.digest('lineage'),
      tokenizer: policy.digest('tokenizer'),
      version: policy.integer('version', 0),
    },
    rollouts: list(body.get('rollouts'), MIN_ROLLOUTS, MAX_ROLLOUTS).map((value) =>
      readRollout(Fields.of(value, frame.minor)),
    ),
    author: authorOf(frame),
    sequence: body.integer('sequence', 0),
    createdAt: body.integer('created', 0),
  }
  policy.end()
  body.end()
  return group
}

function readRollout(fields: Fields): SharedRollout {
  const rollout: SharedRollout = {
    text: fields.text('text', MAX_TEXT_CHARS),
    finish: fields.oneOf('finish', ['stop', 'length', 'aborted'] as const),
    segments: readSegments(list(fields.get('segments'), 0, MAX_SEGMENTS)),
  }
  const covered = rollout.segments.reduce((sum, segment) => sum + segment.length, 0)
  const tokens = fields.bytes('tokens')
  const logprobs = fields.bytes('logprobs')
  fields.end()
  if (tokens === undefined) {
    if (logprobs !== undefined) throw new WireFault('forged', 'log-probs without tokens')
    return rollout
  }
  rollout.tokens = unpackTokens(tokens)
  // Every sampler draws at least one token, and no engine can train on an empty completion.
  if (rollout.tokens.length === 0) throw new WireFault('empty', 'a completion without tokens')
  if (covered !== rollout.tokens.length) throw malformed('segments do not cover the tokens')
  if (logprobs !== undefined) rollout.behaviourLogprobs = unpackLogprobs(logprobs, rollout.tokens.length)
  return rollout
}

function readSegments(values: ReturnType<typeof list>): Segment[] {
  let start = 0
  return values.map((value) => {
    const [version, length] = list(value, 2, 2)
    if (typeof version !== 'number' || version < 0) throw malformed('segment version')
    if (typeof length !== 'number' || length < 1 || length > MAX_TOKENS) throw malformed('segment length')
    const segment = { version, start, length }
    start += length
    return segment
  })
}

function bodyOf(group: GroupDraft & Pick<SharedGroup, 'sequence' | 'createdAt'>): Writable {
  const { policy } = group
  return {
    prompt: promptBody(group.prompt),
    arm: group.arm,
    policy: {
      lineage: Buffer.from(policy.lineage, 'hex'),
      tokenizer: Buffer.from(policy.tokenizer, 'hex'),
      version: policy.version,
    },
    rollouts: group.rollouts.map((rollout) => ({
      text: rollout.text,
      finish: rollout.finish,
      segments: rollout.segments.map((segment) => [segment.version, segment.length]),
      ...(rollout.tokens && { tokens: packTokens(rollout.tokens) }),
      ...(rollout.behaviourLogprobs && { logprobs: packLogprobs(rollout.behaviourLogprobs) }),
    })),
    sequence: group.sequence,
    created: group.createdAt,
  }
}
