// How many own groups may wait to be trained on, so that none is too old when its turn comes.
//
// AReaL's rule (arXiv 2505.24298): at version v, with batches of B and a largest age of eta versions, (eta + v + 1) B -
// (accepted + running) more may be begun. Of what was accepted v B have been trained on, so that this is (eta + 1) B less
// what waits and what is being written. A node that writes one batch while it trains on another needs no more than eta =
// 1: more would only be older, whatever age is allowed.

const AHEAD = 1

/** Groups that may wait or be in writing, for batches of so many and ages of at most so many versions. */
export function mostWaiting(batch: number, maxStaleness: number): number {
  return (Math.min(AHEAD, maxStaleness) + 1) * batch
}
