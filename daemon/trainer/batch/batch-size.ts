// How large a batch is: how many groups make one due, how many of them are own ones and how many foreign, and how many
// own groups may wait for the next.

/** The first batch has this share of `batch_groups`, but at least this many groups. */
const FIRST = { part: 1 / 4, groups: 4 }

/**
 * Number of own groups in a batch without foreign groups, at this policy version. Batches grow over `batch_ramp_steps`
 * steps: at first, many noisy steps get further than a few exact ones; later it is the other way round. Nodes whose
 * weights are averaged divide the batch, since averaging removes the noise of the smaller batches. They round down: four
 * nodes with two groups of a batch of five would do as a node alone does with eight.
 */
export function batchAt(
  version: number,
  { batch_groups, batch_ramp_steps }: { batch_groups: number; batch_ramp_steps: number },
  nodes = 1,
): number {
  const first = Math.min(batch_groups, Math.max(FIRST.groups, FIRST.part * batch_groups))
  const grown = batch_ramp_steps > 0 ? Math.min(1, version / batch_ramp_steps) : 1
  const whole = Math.ceil(first + (batch_groups - first) * grown)
  return Math.max(1, Math.floor(whole / nodes))
}

/** Minimum share of own groups in a batch, so that own rollouts confirm each step. As in our runs with eight nodes. */
const OWN_PART = 1 / 8
/** J is at least this share of a batch, even while no peer is known: newcomers' groups displace no own group. */
const OPEN_PART = 1 / 4

/**
 * The minimum number of own groups, and J, in a batch of `batchGroups` groups. Groups of known peers replace own groups
 * and do not make the batch larger: at the same learning rate, a step with more groups moves further only by the square
 * root of their number, so spending them on more steps brings more. Each peer counts as much as this node, so a single
 * peer gets half of a batch as long as enough own groups wait. `peers`: number of peers whose waiting groups have
 * weight.
 */
export function filledBatch(batchGroups: number, peers: number): { leastOwn: number; foreign: number } {
  const leastOwn = Math.ceil(batchGroups * Math.max(OWN_PART, 1 / (1 + peers)))
  return { leastOwn, foreign: Math.max(Math.ceil(OPEN_PART * batchGroups), batchGroups - leastOwn) }
}

/** How many own groups may be queued or being written, and how much of that room a round waits for. */
export interface Room {
  most: number
  round: number
}

/**
 * `batch`: own groups in one; `whole`: in one that is not divided among nodes. While a batch is trained on, a whole one may
 * be written: the sampler writes many prompts at once for little more than a few cost, so rounds as small as a divided
 * batch would cost what averaging saves. No more than these two may wait, because what waits for many small steps is old
 * when its turn comes. AReaL's rule (arXiv 2505.24298) bounds the age: at version v, with batches of B
 * groups and a maximum staleness of eta versions, (eta + v + 1) B - (accepted + running) groups may be started. Of the
 * accepted groups, v B have been trained on, which leaves (eta + 1) B.
 */
export function roomFor(
  { batch, whole = batch }: { batch: number; whole?: number | undefined },
  maxStaleness: number,
): Room {
  return {
    most: Math.min(whole + batch, (maxStaleness + 1) * batch),
    round: Math.max(1, Math.min(whole, maxStaleness * batch)),
  }
}
