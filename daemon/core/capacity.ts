// Limits how many own groups may be queued for training, so that none is too stale when its turn comes.
//
// AReaL's rule (arXiv 2505.24298): at version v, with batches of B groups and a maximum staleness of eta versions,
// (eta + v + 1) B - (accepted + running) groups may be started. Of the accepted groups, v B have been trained on, which
// leaves (eta + 1) B minus the groups that are queued or being written. A node that generates one batch while it trains
// on another needs no more than eta = 1: a longer queue would only make groups staler.

const AHEAD = 1

/** Maximum number of groups queued or being written. `batch` in groups, `maxStaleness` in versions. */
export function mostWaiting(batch: number, maxStaleness: number): number {
  return (Math.min(AHEAD, maxStaleness) + 1) * batch
}
