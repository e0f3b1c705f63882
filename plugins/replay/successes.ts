// Peers' successes: verified right answers to questions that this node may fail.
//
// Memory is bounded whatever peers send. There is one success per author and question, and uses are counted for this
// pair, so sending another success does not reset the count. A question keeps a few authors. When the store is full,
// the author who takes the most room loses its oldest success, so a peer that floods crowds out only itself.

import { z } from 'zod'
import type { Finish, Turn } from '../../protocol/train/index.ts'
import { turnSchema } from './kept/saved.ts'

export interface Success {
  /** Key of its question. */
  question: string
  /** Peer ID. */
  author: string
  text: string
  tokens: Int32Array
  finish: Finish
  lossMask?: Uint8Array
  turns?: Turn[]
  /** How often it has been used. */
  uses: number
}

interface SuccessLimits {
  records: number
  bytes: number
  /** Maximum authors per question. */
  perQuestion: number
  /** Maximum uses of one author's successes on one question. */
  uses: number
}

interface Successes {
  readonly size: number
  /** Number of distinct authors. */
  readonly authors: number
  /** False if it was not kept. */
  add(success: Success): boolean
  /** The successes that may still be used for a question, oldest first. */
  of(question: string): Success[]
  drop(question: string): void
  clear(): void
  save(): Success[]
  /** Replaces the contents. */
  load(saved: readonly Success[]): void
}

/** Saved with the plugin's state, in a record. */
export const successSchema = z.strictObject({
  question: z.string(),
  author: z.string(),
  text: z.string(),
  tokens: z.instanceof(Int32Array),
  finish: z.enum(['stop', 'length', 'aborted']),
  lossMask: z.instanceof(Uint8Array).optional(),
  turns: z.array(turnSchema).optional(),
  uses: z.int().nonnegative(),
})

export function createSuccesses(limits: SuccessLimits): Successes {
  /** By question, then by author; both in order of arrival. */
  const questions = new Map<string, Map<string, Success>>()
  const byAuthor = new Map<string, Set<Success>>()
  const room = new Map<string, number>()
  let [size, bytes] = [0, 0]

  const remove = (success: Success): void => {
    const { question, author } = success
    const rest = questions.get(question)!
    rest.delete(author)
    if (rest.size === 0) questions.delete(question)
    const theirs = byAuthor.get(author)!
    theirs.delete(success)
    room.set(author, room.get(author)! - bytesOf(success))
    if (theirs.size === 0) {
      byAuthor.delete(author)
      room.delete(author)
    }
    size -= 1
    bytes -= bytesOf(success)
  }
  const insert = (success: Success): void => {
    const { question, author } = success
    questions.set(question, (questions.get(question) ?? new Map()).set(author, success))
    byAuthor.set(author, (byAuthor.get(author) ?? new Set()).add(success))
    room.set(author, (room.get(author) ?? 0) + bytesOf(success))
    size += 1
    bytes += bytesOf(success)
    while (size > limits.records || bytes > limits.bytes) {
      const [largest] = [...room].reduce((most, one) => (one[1] > most[1] ? one : most))
      remove(byAuthor.get(largest)!.values().next().value!)
    }
  }

  return {
    get size() {
      return size
    },
    get authors() {
      return byAuthor.size
    },
    add(success) {
      if (bytesOf(success) > limits.bytes) return false
      const known = questions.get(success.question)
      if (known?.has(success.author) || (known?.size ?? 0) >= limits.perQuestion) return false
      insert(success)
      return true
    },
    of: (question) => [...(questions.get(question)?.values() ?? [])].filter(({ uses }) => uses < limits.uses),
    drop(question) {
      for (const success of [...(questions.get(question)?.values() ?? [])]) remove(success)
    },
    clear() {
      questions.clear()
      byAuthor.clear()
      room.clear()
      ;[size, bytes] = [0, 0]
    },
    save: () => [...questions.values()].flatMap((authors) => [...authors.values()]),
    load(saved) {
      this.clear()
      for (const success of saved) insert(success)
    },
  }
}

/** Approximate size in memory and in a saved state. */
function bytesOf({ text, tokens, lossMask, turns = [] }: Success): number {
  return (
    7 * tokens.length +
    2 * text.length +
    2 * (lossMask?.length ?? 0) +
    turns.reduce((sum, turn) => sum + 96 + 2 * (turn.observation.length + turn.state.length), 0) +
    256
  )
}
