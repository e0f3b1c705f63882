// Counts the groups that the model has been trained on: this node's own and those of peers, in the model's whole life
// and in the last hour. A checkpoint contains the counts, so they always belong to the weights: a restart continues
// them, and a roll-back takes them back as well.

import { z } from 'zod'
import type { RolloutInfo } from '../../protocol/api/index.ts'
import type { TrainedOn } from './update.ts'

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60
/** Maximum number of peers that are told apart. */
export const MAX_PEERS = 1024

const count = z.int().nonnegative()
const minute = z.int().nonnegative()

/** The counts in a checkpoint. */
export const trainedOnState = z.strictObject({
  own: count,
  foreign: count,
  /** Each peer, and the minute (since the epoch) in which the model was last trained on its groups. */
  peers: z.array(z.tuple([z.string().min(1).max(256), minute])).max(MAX_PEERS),
  /** Groups per minute of the last hour. */
  recent: z.array(z.strictObject({ minute, own: count, foreign: count })).max(HOUR_MINUTES + 1),
})
export type TrainedOnState = z.infer<typeof trainedOnState>

export interface TrainedOnRecord {
  /** Call after each update that was not rolled back. */
  add(update: TrainedOn): void
  readonly info: Pick<RolloutInfo, 'trainedOwn' | 'trainedForeign' | 'trainedPeers' | 'trainedLastHour'>
  save(): TrainedOnState
  /** Replaces all counts: those of a checkpoint, or none. */
  restore(state: TrainedOnState | undefined): void
}

export function createTrainedOn({ now }: { now(): number }): TrainedOnRecord {
  let [own, foreign] = [0, 0]
  let peers = new Map<string, number>()
  let recent: TrainedOnState['recent'] = []
  const minuteNow = (): number => Math.max(0, Math.floor(now() / MINUTE_MS))
  /** False for a time in the future as well: the clock may have been set back. */
  const isRecent = (at: number): boolean => at <= minuteNow() && at > minuteNow() - HOUR_MINUTES

  return {
    add(update) {
      const authors = Object.entries(update.foreign)
      const theirs = authors.reduce((sum, [, groups]) => sum + groups, 0)
      if (update.own + theirs === 0) return
      own += update.own
      foreign += theirs
      const at = minuteNow()
      for (const [author] of authors) if (peers.has(author) || peers.size < MAX_PEERS) peers.set(author, at)
      recent = recent.filter((entry) => isRecent(entry.minute))
      let last = recent.find((entry) => entry.minute === at)
      if (!last) {
        last = { minute: at, own: 0, foreign: 0 }
        recent.push(last)
      }
      last.own += update.own
      last.foreign += theirs
    },

    get info() {
      const within = recent.filter((entry) => isRecent(entry.minute))
      const sum = (read: (entry: (typeof within)[number]) => number): number =>
        within.reduce((total, entry) => total + read(entry), 0)
      return {
        ...{ trainedOwn: own, trainedForeign: foreign, trainedPeers: peers.size },
        trainedLastHour: {
          own: sum((entry) => entry.own),
          foreign: sum((entry) => entry.foreign),
          peers: [...peers.values()].filter(isRecent).length,
        },
      }
    },

    save: () => ({ own, foreign, peers: [...peers], recent: structuredClone(recent) }),

    restore(state) {
      own = state?.own ?? 0
      foreign = state?.foreign ?? 0
      peers = new Map(state?.peers)
      recent = structuredClone(state?.recent ?? [])
    },
  }
}
