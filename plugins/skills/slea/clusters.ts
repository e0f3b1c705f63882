// SLEA-RL's observation clusters (arXiv 2603.18079): record which observations were seen before, and the entries that
// belong to them.
//
// An observation joins the cluster whose first observation is most similar, if the similarity is at least
// 0.85; otherwise it opens a new one. At 500 clusters the least used one is dropped. The embedding is the plugin
// contract's (character n-grams); the authors use a model.

import { z } from 'zod'
import { embedText, similarity } from '../../../protocol/plugin/index.ts'

const MAX = 500
const NEAR = 0.85
const MAX_LINKS = 32
const SEEN = 400

interface Cluster {
  text: string
  vector: Float32Array
  ids: string[]
  looks: number
}

interface Clusters {
  readonly size: number
  /** Ids of the observation's entries, newest first; empty for a new cluster. */
  linked(observation: string, mayOpen: boolean): string[]
  link(observation: string, id: string): void
  save(): unknown
  load(saved: unknown): void
}

const savedSchema = z.array(
  z.strictObject({ text: z.string(), ids: z.array(z.string()), looks: z.number().int().nonnegative() }),
)

export function createClusters(): Clusters {
  let clusters: Cluster[] = []
  const find = (observation: string, mayOpen: boolean): Cluster | undefined => {
    const text = observation.slice(0, SEEN)
    const vector = embedText(text)
    let best: Cluster | undefined
    let nearest = NEAR
    for (const cluster of clusters) {
      const near = similarity(cluster.vector, vector)
      if (near >= nearest) [best, nearest] = [cluster, near]
    }
    if (best || !mayOpen) return best
    if (clusters.length >= MAX) {
      const least = clusters.reduce((a, b) => (b.looks < a.looks ? b : a))
      clusters = clusters.filter((cluster) => cluster !== least)
    }
    const opened = { text, vector, ids: [], looks: 0 }
    clusters.push(opened)
    return opened
  }
  return {
    get size() {
      return clusters.length
    },
    linked(observation, mayOpen) {
      const cluster = find(observation, mayOpen)
      if (!cluster) return []
      if (mayOpen) cluster.looks += 1
      return [...cluster.ids]
    },
    link(observation, id) {
      const cluster = find(observation, true)!
      cluster.ids = [id, ...cluster.ids.filter((other) => other !== id)].slice(0, MAX_LINKS)
    },
    save: () => clusters.map(({ text, ids, looks }) => ({ text, ids, looks })),
    load(saved) {
      clusters = savedSchema.parse(saved).map((cluster) => ({ ...cluster, vector: embedText(cluster.text) }))
    },
  }
}
