// A served call that is kept: what was asked, what was answered, how it was drawn, and what it was worth.

import { readRecord, writeRecord } from '../../../protocol/train/record.ts'
import type { Sample } from '../../engine/engine.ts'

/** Which key asked: the serving key, or the gateway's token. */
export type KeyName = 'serve' | 'agents'

export interface Conversation {
  /** 24 hex digits. */
  readonly id: string
  readonly key: KeyName
  /** ms since the epoch. */
  readonly at: number
  readonly model: string
  /** The last message of the user, or the text to continue. */
  readonly asked: string
  readonly prompt: Int32Array
  /** The prompt as text, if it was made from text. */
  readonly promptText?: string | undefined
  readonly text: string
  /** With the log-probs of the distribution that it was drawn from. */
  readonly sample: Drawn
  /** Of the policy. */
  readonly lineage: string
  /** Every token could have been drawn. Otherwise no importance weight makes up for those that could not. */
  readonly isWhole: boolean
  readonly rating?: Rating
  /** Id of the group that it is in. */
  readonly group?: string
  readonly isLearnt?: true
  /** How often it was asked again, and the ids of the latest groups of that. */
  readonly again?: { times: number; groups: readonly string[] }
}

export type Drawn = Pick<
  Sample,
  'tokens' | 'logprobs' | 'entropies' | 'allowed' | 'finish' | 'version' | 'segments'
>

export interface Rating {
  /** 0 to 1. */
  readonly reward: number
  readonly comment?: string
}

const FORMAT = 'conversation/1'

export const writeConversation = (one: Conversation): Uint8Array => writeRecord(FORMAT, one)

/** Throws if the record is damaged or of another format. */
export const readConversation = (record: Uint8Array): Conversation =>
  readRecord(FORMAT, record) as Conversation
