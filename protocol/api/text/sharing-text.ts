// Describes what a model has learnt from, own groups and peers', and whether peers' groups hurt. Counts and measurements
// only: nothing is predicted. Used by `waggle status` and the terminal UI.

import { type Direction, directionOf, shareOf } from '../accuracy.ts'
import type { RolloutInfo, SharingInfo, Snapshot } from '../snapshot/index.ts'
import { count } from './format.ts'

const points = (share: number): string => `${share < 0 ? '' : '+'}${(share * 100).toFixed(0)}`

/** A peer's effect and its interval, such as `+35 % (95 %: +12 to +60)`. Empty if unknown. */
export function effectText({ effect, low, high }: { effect?: number; low?: number; high?: number }): string {
  if (effect === undefined) return ''
  const bound = (value: number | undefined, none: string): string =>
    value === undefined ? none : points(value)
  const ends =
    low === undefined && high === undefined
      ? ''
      : ` (95 %: ${bound(low, 'no lower end')} to ${bound(high, 'no upper end')})`
  return `${points(effect)} %${ends}`
}

export interface GroupCounts {
  own: number
  foreign: number
  peers: number
}

/** Groups that the model has learnt from: in its life, and in the last hour if the node says so. */
export function learntFrom(
  rollouts: RolloutInfo | undefined,
): { life: GroupCounts; hour: GroupCounts | undefined } | undefined {
  if (!rollouts) return undefined
  const { trainedOwn: own, trainedForeign: foreign, trainedPeers: peers = 0, trainedLastHour } = rollouts
  return { life: { own, foreign, peers }, hour: trainedLastHour }
}

/** Such as `1,204 own groups and 1,510 of 7 peers`. */
export function groupsText({ own, foreign, peers }: GroupCounts): string {
  const mine = `${count(own)} own group${own === 1 ? '' : 's'}`
  // Older checkpoints do not say how many peers.
  const whose = peers === 0 ? 'of peers' : `of ${count(peers)} peer${peers === 1 ? '' : 's'}`
  return foreign === 0 ? mine : `${mine} and ${count(foreign)} ${whose}`
}

/** Whether sampled held-out accuracy has moved by more than chance since the first evaluation that is known. */
export function heldOutMoved({
  evaluations = [],
}: Pick<Snapshot, 'evaluations'>): { direction: Direction; points: number; since: number } | undefined {
  const [first, last] = [evaluations[0], evaluations.at(-1)]
  if (!first || !last || first === last) return undefined
  const [before, after] = [shareOf(first, 'sampled')!, shareOf(last, 'sampled')!]
  return {
    direction: directionOf(before, after),
    points: 100 * (after.share - before.share),
    since: first.step,
  }
}

/** Such as `held-out accuracy rose by 19 points since step 0`. */
export function heldOutMovedText(snapshot: Pick<Snapshot, 'evaluations'>): string {
  const moved = heldOutMoved(snapshot)
  if (!moved) return 'held-out accuracy not compared yet'
  const since = `since step ${count(moved.since)}`
  if (moved.direction === 'unclear') return `held-out accuracy has not clearly moved ${since}`
  const verb = moved.direction === 'up' ? 'rose' : 'fell'
  return `held-out accuracy ${verb} by ${Math.abs(moved.points).toFixed(0)} points ${since}`
}

/** What the model has learnt from, and whether held-out accuracy moved, in one line. */
export function learntText(snapshot: Pick<Snapshot, 'rollouts' | 'evaluations'>): string | undefined {
  const learnt = learntFrom(snapshot.rollouts)
  if (!learnt) return undefined
  const { life, hour } = learnt
  if (life.own + life.foreign === 0) return 'nothing yet'
  return [
    `from ${groupsText(life)}`,
    ...(hour ? [`in the last hour ${groupsText(hour)}`] : []),
    heldOutMovedText(snapshot),
  ].join('; ')
}

/** Whether peers' groups hurt, as measured, and what to do about it. */
export function sharingText(sharing: SharingInfo): string {
  const { verdict, foreign, comparisons, needed } = sharing
  switch (verdict) {
    case 'helps':
      return "peers' groups do not hurt: they bring more than own ones for the same compute"
    case 'no difference':
      return "peers' groups do not hurt: they bring about as much as own ones for the same compute"
    case 'hurts':
      return foreign === 0
        ? "peers' groups hurt, so the node does not train on them; it tries some now and then"
        : "peers' groups hurt: they bring less than own ones for the same compute; `set training.max_peer_groups=0` trains on own groups only"
    case 'not yet known':
      return comparisons < needed
        ? `not yet known whether peers' groups hurt: ${comparisons} of at least ${needed} comparisons`
        : `not yet known whether peers' groups hurt: ${count(comparisons)} comparisons do not tell`
  }
}
