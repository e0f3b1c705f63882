// Peers whose heads this node does not take for a while, because a trial refused them or the node had to go back to before
// it joined them. After that they are tried before they are joined, one by one, so that those who did no harm come back.

export interface Probation {
  /** Not to be asked for its head. */
  isOut(peer: string, version: number): boolean
  /** Its heads are not joined without a trial. */
  isSuspect(peer: string): boolean
  /** From this version of the node's policy on: for 50 versions, the next time for 100, then 200 and so on. */
  put(peers: readonly string[], version: number): void
  /**
   * A trial has taken its head. Makes up for one offence, since a node also goes back for what no peer did; who has none
   * left is forgotten.
   */
  passed(peers: readonly string[]): void
  /** The user wants it. */
  pardon(peer: string): void
}

/** A peer that is, or has been, on probation. */
export interface Probated {
  peer: string
  /** This node's version at which it is asked again. */
  until: number
  offences: number
  isSuspect: boolean
}

interface ProbationOptions {
  /** This node's version now. */
  version?: number
  /** Those of an earlier run, which may have been ahead of the checkpoint that this one continues. */
  peers?: readonly Probated[]
}

/** Peers that are remembered; those who offended longest ago are dropped. */
export const MAX_PROBATED = 1024
const FIRST = 50
const MAX_OFFENCES = 10

const termOf = (offences: number): number => FIRST * 2 ** (offences - 1)

export function createProbation(
  { version: now = 0, peers = [] }: ProbationOptions = {},
  { onChange = () => {} }: { onChange?(peers: readonly Probated[]): void } = {},
): Probation {
  const all = new Map<string, Probated>()
  for (const one of peers.slice(-MAX_PROBATED)) {
    const offences = Math.min(MAX_OFFENCES, one.offences)
    all.set(one.peer, { ...one, offences, until: Math.min(one.until, now + termOf(offences)) })
  }
  const changed = (): void => onChange([...all.values()])
  const add = (one: Probated): void => {
    all.delete(one.peer)
    all.set(one.peer, one)
    if (all.size > MAX_PROBATED) all.delete(all.keys().next().value!)
  }
  return {
    isOut: (peer, version) => version < (all.get(peer)?.until ?? 0),
    isSuspect: (peer) => all.get(peer)?.isSuspect ?? false,
    put(peers, version) {
      for (const peer of peers) {
        const offences = Math.min(MAX_OFFENCES, (all.get(peer)?.offences ?? 0) + 1)
        add({ peer, until: version + termOf(offences), offences, isSuspect: true })
      }
      if (peers.length > 0) changed()
    },
    passed(peers) {
      const found = peers.flatMap((peer) => all.get(peer) ?? []).filter(({ isSuspect }) => isSuspect)
      for (const one of found) {
        one.isSuspect = false
        one.offences--
        if (one.offences <= 0) all.delete(one.peer)
      }
      if (found.length > 0) changed()
    },
    pardon(peer) {
      if (all.delete(peer)) changed()
    },
  }
}
