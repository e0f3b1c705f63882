// Parked groups as JSON text, for a checkpoint. Per-token numbers are base64 of their little-endian bytes, because
// there can be a hundred thousand tokens.

import { Buffer } from 'node:buffer'
import type { Span } from '../../../protocol/plugin/index.ts'
import type { Finish, PromptCoordinates, TokenRow } from '../../../protocol/train/index.ts'
import type { Composed } from '../../host/contract.ts'

const FORMAT = 3
/** As `FORMAT`, with spans under the name `places`. */
const FORMER_FORMAT = 2

type Packed = Omit<ParkedSequence, 'tokens' | 'logprobs' | 'entropies' | 'mask'> & {
  tokens: string
  logprobs: string
  entropies: string
  mask: string
}

export function writeParked(groups: readonly ParkedGroup[]): string {
  const packed = groups.map((group) => ({
    ...group,
    sequences: group.sequences.map(
      (one): Packed => ({
        ...one,
        tokens: base64(Int32Array.from(one.tokens)),
        logprobs: base64(Float32Array.from(one.logprobs)),
        entropies: base64(Float32Array.from(one.entropies)),
        mask: base64(Uint8Array.from(one.mask)),
      }),
    ),
  }))
  return JSON.stringify({ format: FORMAT, groups: packed })
}

/** Undefined for anything that `writeParked` did not write. */
export function readParked(saved: string): ParkedGroup[] | undefined {
  try {
    const { format, groups } = JSON.parse(saved) as {
      format: number
      groups: (Omit<ParkedGroup, 'sequences'> & { sequences: (Packed & { places?: Packed['spans'] })[] })[]
    }
    if (format !== FORMAT && format !== FORMER_FORMAT) return undefined
    return groups.map((group) => ({
      ...group,
      sequences: group.sequences.map(({ places, ...sequence }) => {
        const one = { ...sequence, spans: places ?? sequence.spans }
        const tokens = [...new Int32Array(bytesOf(one.tokens))]
        const logprobs = [...new Float32Array(bytesOf(one.logprobs))]
        const entropies = [...new Float32Array(bytesOf(one.entropies))]
        const mask = [...new Uint8Array(bytesOf(one.mask))]
        if ([logprobs, entropies, mask].some(({ length }) => length !== tokens.length))
          throw new RangeError('the arrays have different lengths')
        return { ...one, tokens, logprobs, entropies, mask }
      }),
    }))
  } catch {
    return undefined
  }
}

function base64({ buffer, byteOffset, byteLength }: Int32Array | Float32Array | Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

/** Copied, so that typed arrays are aligned. */
function bytesOf(text: string): ArrayBuffer {
  return Uint8Array.from(Buffer.from(text, 'base64')).buffer
}

export interface ParkedSequence extends TokenRow {
  seed: number
  answerStart: number
  /** Token ranges of complete answers, if the task has turns. */
  spans: Span[]
  finish?: Finish
  arm?: string
  tainted: boolean
}

export interface ParkedGroup {
  prompt: PromptCoordinates
  conditioning: number[]
  composed?: Composed
  /** The policy version when the group was begun. */
  since: number
  sequences: ParkedSequence[]
}
