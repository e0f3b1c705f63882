// Finds the texts of a library that are nearest to an observation: by words, or by the policy's hidden states.
//
// By words, texts are compared by their character n-grams (`embedText`). By states, the policy reads the text and is
// asked what it is about in one word; the text's vector is the last hidden state before that word, scaled to norm 1
// (PromptEOL, Jiang et al. 2023, arXiv 2307.16645, in our wording). The states of one model point in nearly the same
// direction, whatever the text says, so the mean over the library is subtracted from every vector (Mu and Viswanath
// 2018, arXiv 1702.01417; their next step, which also removes the largest components, is not taken).
//
// The policy changes during training, and a restarted node must find the same texts as one that kept running. So
// vectors by states are recomputed after each update, for the `MAX` best texts; the other texts rank after these.

import { type Context, embedText, similarity } from '../../../protocol/plugin/index.ts'
import type { Entry } from './entry.ts'

export const RETRIEVALS = ['words', 'states'] as const
type RetrievalName = (typeof RETRIEVALS)[number]

interface Retrieval {
  /** The entries, nearest first; equally near ones stay in their order, best first. */
  nearest(entries: readonly Entry[], observation: string, context: Context): Promise<Entry[]>
}

/** Number of characters of a text that its vector is made from; `AT_ONCE` texts are scored at a time. */
const READ = 600
const AT_ONCE = 32
/** Maximum number of texts compared by states. */
const MAX = 64
/** Number of cached vectors by words; beyond that, all are recomputed. */
const KEPT = 1000

export function createRetrieval(by: RetrievalName): Retrieval {
  let known = new Map<string, Float32Array>()
  let step = -1

  const vectorsOf = async (texts: readonly string[], context: Context): Promise<Float32Array[]> =>
    by === 'words' ? texts.map(embedText) : await statesOf(texts, context)

  const kept = async (entries: readonly Entry[], context: Context): Promise<Float32Array[]> => {
    if (by === 'states' ? step !== context.step : known.size > KEPT) known = new Map()
    step = context.step
    const missing = entries.filter(({ id }) => !known.has(id))
    const texts = missing.map(({ text }) => text)
    const made = await vectorsOf(texts, context)
    missing.forEach(({ id }, i) => void known.set(id, made[i]!))
    return entries.map(({ id }) => known.get(id)!)
  }

  return {
    async nearest(entries, observation, context) {
      if (entries.length === 0) return []
      const compared = by === 'words' ? entries : entries.slice(0, MAX)
      const all = [...(await kept(compared, context)), ...(await vectorsOf([observation], context))]
      const vectors = by === 'words' ? all : centred(all, compared.length)
      const wanted = vectors.at(-1)!
      const sorted = compared
        .map((entry, i) => ({ entry, near: similarity(vectors[i]!, wanted) }))
        .sort((a, b) => b.near - a.near)
        .map(({ entry }) => entry)
      return [...sorted, ...entries.slice(compared.length)]
    },
  }
}

/** One vector of norm 1 per text. */
async function statesOf(texts: readonly string[], context: Context): Promise<Float32Array[]> {
  // The word does not matter: the state returned for it is that of the token before it.
  const completion = context.encode('the').subarray(0, 1)
  const items = texts.map((text) => ({
    conditioning: context.encode(`This text: "${text.slice(0, READ)}" is about one thing, in one word: "`),
    completion,
  }))
  const vectors: Float32Array[] = []
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const scored = await context.score(items.slice(from, from + AT_ONCE), { hidden: true })
    vectors.push(...scored.map(({ hidden }) => normal(hidden!)))
  }
  return vectors
}

/** Subtracts the mean of the first `count` vectors from all of them, and scales them to norm 1. */
export function centred(vectors: readonly Float32Array[], count: number): Float32Array[] {
  const mean = new Float32Array(vectors[0]!.length)
  for (const vector of vectors.slice(0, count))
    for (let i = 0; i < mean.length; i++) mean[i]! += vector[i]! / count
  return vectors.map((vector) => normal(vector.map((value, i) => value - mean[i]!)))
}

function normal(vector: Float32Array): Float32Array {
  const norm = Math.hypot(...vector)
  return norm === 0 ? vector : vector.map((value) => value / norm)
}
