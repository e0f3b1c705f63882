// What hostile nodes of a simulation have in common. They speak the protocol by themselves and keep to none of it. They hear
// all gossip, know every rule of the code, and have as many identities as they like.

import {
  decodeGroup,
  type GroupDraft,
  type HeadRequest,
  KIND,
  MAX_GOSSIP_BYTES,
  openFrame,
  type SharedGroup,
} from '../../../protocol/wire/index.ts'
import type { SimulatedIdentity as Identity } from '../identity.ts'
import type { Net } from '../net.ts'
import { codec, even, model, writeText } from '../policy.ts'
import { EPOCH, type Random, type World } from '../world.ts'

export interface Tools {
  world: World
  random: Random
  net: Net
  /** Its peer ID. */
  self: string
  /** What it signs with; accomplices may share one. */
  me: Identity
  /** A new one. */
  identity(): Identity
  peers(): string[]
  gossip(to: string, data: Uint8Array): void
  /** To all peers. */
  spread(data: Uint8Array): void
  /** A new group with both right and wrong answers. */
  group(author: Identity, change?: Partial<SharedGroup>): Uint8Array
  /** What was heard, newest last. */
  heard: readonly Uint8Array[]
  /** True the first time that it is asked with this key. */
  isFirst(key: string): boolean
  /** The present policy of an honest node. */
  spy(): Promise<number | undefined>
}

export interface Behaviour {
  /** ms between two acts. */
  every: number
  act(tools: Tools): void
  /** Something was heard. */
  hears?(tools: Tools, data: Uint8Array): void
  /** A peer connects, maybe again. */
  meets?(tools: Tools, peer: string): void
  /** Answers to requests; by default none. */
  answer?(tools: Tools, question: Uint8Array): Uint8Array[]
  /** Answers to requests for its head; by default none. */
  head?(tools: Tools, request: HeadRequest): Uint8Array[]
}

export function draftOf(random: Random, texts: readonly string[]): GroupDraft {
  return {
    prompt: {
      ...{ task: even.name, taskVersion: even.version, difficulty: even.difficulty.default },
      seed: Math.floor(random.next() * 2 ** 31),
    },
    arm: 'base',
    policy: { lineage: model.digest, tokenizer: codec.tokenizer, version: 1 },
    rollouts: texts.map((text) => {
      const tokens = codec.encodeCompletion(text, 'stop')
      return {
        ...{ text, tokens, finish: 'stop' as const },
        behaviourLogprobs: new Float32Array(tokens.length).fill(-4.5).fill(0, -1),
        segments: [{ version: 1, start: 0, length: tokens.length }],
      }
    }),
  }
}

export const mixedTexts = (random: Random): string[] =>
  [0, 1, 2, 3].map((i) => writeText(i % 2 === 0, random.next))

export function groupIn(frame: Uint8Array | undefined): SharedGroup | undefined {
  try {
    const opened = openFrame(frame!, MAX_GOSSIP_BYTES)
    return opened.kind === KIND.group ? decodeGroup(opened) : undefined
  } catch {
    return undefined
  }
}

/** ms since the epoch, by the world's clock. */
export const nowOf = ({ world }: Tools): number => Math.floor(EPOCH + world.time)
