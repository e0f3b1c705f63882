// Chooses solved problems to show with an unsolved one: this node's own answers that its verifier judged right,
// ranked by the similarity of the questions. Keeps the newest solution per prompt. Never shows a solution of the
// same prompt, or a text that contains the prompt's answer.

import { z } from 'zod'
import { type Context, similarity } from '../../protocol/plugin/index.ts'
import { type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import { readState, writeState } from '../state.ts'

interface ExemplarOptions {
  /** K: the number of solutions shown. */
  shown: number
  /** Maximum length of a solution, in characters. */
  characters: number
  /** Maximum number of solutions kept. */
  most: number
}

interface Entry {
  prompt: PromptCoordinates
  solution: string
  /** Embedding of the question; not saved. */
  vector?: Float32Array
}

interface Exemplars {
  readonly size: number
  add(prompt: PromptCoordinates, solution: string): void
  /** The text to put before the question; undefined if nothing fits. */
  textFor(at: PromptCoordinates, context: Context): string | undefined
  save(): Uint8Array
  load(bytes: Uint8Array): void
}

const savedSchema = z.array(
  z.strictObject({
    prompt: z.strictObject({
      task: z.string(),
      taskVersion: z.number().int(),
      seed: z.number().int().min(0),
      difficulty: z.number().int(),
    }),
    solution: z.string(),
  }),
)

export function createExemplars({ shown, characters, most }: ExemplarOptions): Exemplars {
  let entries = new Map<string, Entry>()
  return {
    get size() {
      return entries.size
    },

    add(prompt, solution) {
      const key = promptKey(prompt)
      entries.delete(key)
      entries.set(key, { prompt, solution: solution.trim().slice(0, characters) })
      if (entries.size > most) entries.delete(entries.keys().next().value!)
    },

    textFor(at, context) {
      const own = promptKey(at)
      const [vector] = context.embed([context.question(at)])
      const alike = [...entries]
        .filter(([key]) => key !== own)
        .map(([key, entry]) => {
          const question = context.question(entry.prompt)
          entry.vector ??= context.embed([question])[0]!
          return { key, question, entry, likeness: similarity(vector!, entry.vector) }
        })
        .sort((a, b) => b.likeness - a.likeness || (a.key < b.key ? -1 : 1))
      const chosen: string[] = []
      for (const { question, entry } of alike) {
        if (chosen.length === shown) break
        const text = `Problem:\n${question}\nSolution:\n${entry.solution}\n\n`
        if (!context.leaks(at, text)) chosen.push(text)
      }
      // The most similar one comes last, next to the question.
      while (chosen.length > 0) {
        const before = `${[...chosen].reverse().join('')}Problem:\n`
        const { length } = context.conditioning(at, { before })
        if (length + context.limits.completion <= context.limits.context) return before
        chosen.pop()
      }
      return undefined
    },

    save: () => writeState([...entries.values()].map(({ prompt, solution }) => ({ prompt, solution }))),
    load(bytes) {
      const rows = readState(savedSchema, bytes)
      entries = new Map(rows.map((row) => [promptKey(row.prompt), row]))
    },
  }
}
