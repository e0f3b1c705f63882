// The prompts of all calls that are decoded. Each distinct prompt is read once for all sequences that start from it, such
// as those of a group.

import type { GenerateRequest } from '../engine.ts'
import type { PromptTokens, ReadPrompt, SequenceCache } from './sequence-cache.ts'

/** Most prompts read side by side. */
const PROMPTS_AT_ONCE = 16
/**
 * Most prompts that are kept although no sample waits for them, since the next call of a group may have the same prompt:
 * the latest ones, as far as they have no more tokens than are read at once.
 */
const KEPT_PROMPTS = 8

export interface Prompt extends PromptTokens {
  /** Samples of this prompt that have not started. */
  waiting: number
  /** Somebody waits for an answer to it. */
  isInteractive?: boolean
  read?: ReadPrompt
}

export interface Prompts {
  /** Counts one more sample that waits for the prompt with these tokens. Other samples may wait for the same prompt. */
  wait(tokens: Int32Array, request: Pick<GenerateRequest, 'isConversation' | 'isInteractive'>): Prompt
  /**
   * Reads a prompt, and others that wait, unless it has been read. Undefined if no sample waits for any of them any more:
   * `look` is called between the pieces of a long one, and takes cuts and aborts.
   */
  read(prompt: Prompt, cache: SequenceCache, look: () => void): Promise<ReadPrompt | undefined>
  /** Call when the weights have changed: prompts that are still needed will be read again. */
  forget(): void
  /** Drops prompts that no sample waits for, except the latest ones. */
  drop(): void
  close(): void
}

/** `readAtOnce`: most tokens read side by side, padding included. A single prompt may have more. */
export function createPrompts({ readAtOnce }: { readAtOnce: number }): Prompts {
  const prompts = new Map<string, Prompt>()

  /** This prompt and others that wait, as many as are read side by side. */
  const batchWith = (prompt: Prompt): Prompt[] => {
    const batch = [prompt]
    let longest = prompt.tokens.length
    for (const one of prompts.values()) {
      if (one === prompt || one.waiting === 0 || one.read) continue
      // Nobody who waits for an answer waits for the prompts of others.
      if (prompt.isInteractive && !one.isInteractive) continue
      const length = Math.max(longest, one.tokens.length)
      if (batch.length === PROMPTS_AT_ONCE || (batch.length + 1) * length > readAtOnce) break
      batch.push(one)
      longest = length
    }
    return batch
  }

  return {
    wait(tokens, { isConversation = false, isInteractive = false }) {
      const key = Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength).toString('base64')
      const known: Prompt = prompts.get(key) ?? { tokens, waiting: 0 }
      known.waiting += 1
      known.isConversation ||= isConversation
      known.isInteractive ||= isInteractive
      // Keep the latest prompt at the end.
      prompts.delete(key)
      prompts.set(key, known)
      return known
    },
    async read(prompt, cache, look) {
      if (!prompt.read) {
        const batch = batchWith(prompt)
        const done = await cache.read(batch, () => {
          look()
          return batch.some(({ waiting }) => waiting > 0)
        })
        batch.forEach((one, i) => {
          if (done) one.read = done[i]!
        })
      }
      return prompt.read
    },
    forget() {
      for (const prompt of prompts.values()) {
        prompt.read?.release()
        delete prompt.read
      }
    },
    drop() {
      const kept = { prompts: 0, tokens: 0 }
      for (const [key, { waiting, read, tokens }] of [...prompts].reverse()) {
        if (waiting > 0) continue
        kept.prompts += 1
        kept.tokens += tokens.length
        if (kept.prompts === 1 || (kept.prompts <= KEPT_PROMPTS && kept.tokens <= readAtOnce)) continue
        read?.release()
        prompts.delete(key)
      }
    },
    close() {
      for (const prompt of prompts.values()) prompt.read?.release()
    },
  }
}
