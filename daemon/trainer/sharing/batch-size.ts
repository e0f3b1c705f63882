// How many groups of a batch are own ones, and how many foreign.

/** Minimum share of own groups in a batch, so that own rollouts confirm each step. As in our runs with eight nodes. */
const OWN_PART = 1 / 8
/** J is at least this share of a batch, even while no peer is known: newcomers' groups displace no own group. */
const OPEN_PART = 1 / 4

/**
 * The minimum number of own groups, and J, in a batch of `usual` groups. Groups of known peers replace own groups and
 * do not make the batch larger: at the same learning rate, a step with more groups moves further only by the square
 * root of their number, so spending them on more steps brings more. Each peer counts as much as this node, so a single
 * peer gets half of a batch as long as enough own groups wait. `peers`: number of peers whose waiting groups have
 * weight.
 */
export function filledBatch(batchGroups: number, peers: number): { leastOwn: number; foreign: number } {
  const leastOwn = Math.ceil(batchGroups * Math.max(OWN_PART, 1 / (1 + peers)))
  return { leastOwn, foreign: Math.max(Math.ceil(OPEN_PART * batchGroups), batchGroups - leastOwn) }
}
