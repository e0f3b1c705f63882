// The file format of a replay buffer: the length of a JSON header, the header, and then its numbers,
// little-endian.
//
// The header names the policy that the buffer belongs to and the number of tokens of each rollout. It is parsed with
// a closed schema, and all lengths are added up before anything is sliced, so that a damaged file causes a clear
// error and not a corrupt batch.

import type { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import { headerSchema } from './form-header.ts'
import type { Stored, StoredRollout } from './stored.ts'

export interface Saved {
  lineage: string
  tokenizer: string
  stored: Stored[]
  /** The plugin's own additional state; plain JSON. */
  extra: unknown
}

export function write({ lineage, tokenizer, stored, extra }: Saved): Uint8Array {
  const numbers: Uint8Array[] = []
  const put = (values: Int32Array | Float32Array | Uint8Array): number => {
    numbers.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    return values.length
  }
  const rolloutForm = (rollout: StoredRollout, advantage: number | Float32Array | undefined) => {
    const { text, finish, reward, arm, segments, taskReward, rewardParts, turns } = rollout
    const { tokens, conditioning, lossMask } = rollout
    const lengths = { tokens: put(tokens), conditioning: put(conditioning) }
    put(rollout.behaviourLogprobs)
    if (lossMask) put(lossMask)
    if (typeof advantage === 'object') put(advantage)
    return {
      // In a fixed order, so that equal buffers give equal bytes.
      ...{ text, finish, reward, arm, segments, taskReward, rewardParts, turns },
      ...lengths,
      masked: lossMask !== undefined,
      advantage: typeof advantage === 'object' ? 'tokens' : (advantage ?? null),
    }
  }
  const header = {
    form: 1,
    lineage,
    tokenizer,
    extra: extra ?? null,
    stored: stored.map(
      ({ lane, prompt, group, version, bornAt, tainted, uses, mark, advantages, rollouts }) => ({
        ...{ lane, prompt, group, version, bornAt, tainted, uses, mark },
        rollouts: rollouts.map((rollout, i) => rolloutForm(rollout, advantages?.[i])),
      }),
    ),
  }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const bytes = new Uint8Array(numbers.reduce((sum, part) => sum + part.length, 4 + text.length))
  new DataView(bytes.buffer).setUint32(0, text.length, true)
  let at = 4
  for (const part of [text, ...numbers]) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

export function read(bytes: Uint8Array): Saved {
  if (bytes.length < 4) throw damaged('it is too short')
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  const header = parsed(bytes.subarray(4, 4 + length))
  const rest = bytes.subarray(4 + length)
  const announced = header.stored
    .flatMap(({ rollouts }) => rollouts)
    .reduce((sum, { tokens, conditioning, masked, advantage }) => {
      const each = 8 + (masked ? 1 : 0) + (advantage === 'tokens' ? 4 : 0)
      return sum + each * tokens + 4 * conditioning
    }, 0)
  if (announced !== rest.length)
    throw damaged(`its header announces ${announced} bytes of numbers, but ${rest.length} follow`)
  let at = 0
  const take = (size: number): ArrayBuffer => {
    at += size
    return rest.slice(at - size, at).buffer as ArrayBuffer
  }
  const stored = header.stored.map(({ rollouts, ...record }): Stored => {
    const advantages: Array<number | Float32Array> = []
    const read = rollouts.map(({ tokens, conditioning, masked, advantage, ...rollout }) => {
      const one = {
        ...rollout,
        tokens: new Int32Array(take(4 * tokens)),
        conditioning: new Int32Array(take(4 * conditioning)),
        behaviourLogprobs: new Float32Array(take(4 * tokens)),
        ...(masked && { lossMask: new Uint8Array(take(tokens)) }),
      }
      if (advantage !== null)
        advantages.push(advantage === 'tokens' ? new Float32Array(take(4 * tokens)) : advantage)
      return one as StoredRollout
    })
    return { ...record, rollouts: read, ...(advantages.length > 0 && { advantages }) }
  })
  return { lineage: header.lineage, tokenizer: header.tokenizer, stored, extra: header.extra }
}

function parsed(text: Uint8Array): z.infer<typeof headerSchema> {
  try {
    return headerSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text)))
  } catch (cause) {
    throw damaged('its header cannot be read', cause)
  }
}

function damaged(why: string, cause?: unknown): WaggleError {
  return new WaggleError('E_CHECKPOINT', `the saved replay buffer is damaged: ${why}`, {
    hint: 'Restore an older checkpoint, or start without this one.',
    cause,
  })
}
