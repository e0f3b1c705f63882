// Weights that are averaged with peers, as parts of a snapshot.

/** How a node learns together with peers of its lineage, whose weights it averages with its own. */
export interface HeadsInfo {
  /** Equal on nodes whose weights can be averaged. */
  lineage: string
  /** Bytes of the weights as they are sent. */
  size: number
  /** Since this process started; so are `refused` and the bytes. */
  exchanges: number
  /** Malformed ones. */
  refused: number
  bytesIn: number
  bytesOut: number
  /** Peers whose weights are in this node's, of the last ten minutes. */
  peers: HeadPeer[]
  /** The last time that this node tried weights of peers. */
  trial?: HeadTrial
  /** The trial that is under way. */
  trying?: HeadTrying
  /** Peers whose weights it does not take for a while. */
  out: string[]
  /** What audits of peers' steps have cost since this process started: processor time, and its share of the node's. */
  audits?: { seconds: number; share: number }
  /** The limit on weights, absent if there is none. */
  limit?: WeightsLimit
}

/** A trial of weights on this node's own held-out questions. */
export interface HeadTrial {
  /**
   * caught up: those of a peer that was far ahead. merged: the mean of its own and those of peers that had drifted apart
   * from it, as by training on other tasks.
   */
  how: 'caught up' | 'merged'
  peers: string[]
  /** Held-out accuracy at temperature 1, 0 to 1. */
  before: number
  after: number
  /** Whether it kept them. */
  isTaken: boolean
  /** The task that would have lost too much. */
  fallen?: { task: string; before: number; after: number }
  /** Why the model could not answer with them. */
  failure?: string
  at: number
}

export interface WeightsLimit {
  /** Bytes an hour, up and down each, beyond the local network. */
  mostPerHour: number
  /** Weights that it has kept from coming, or from going to a trusted peer, since this process started. */
  held: number
}

/** A trial goes on beside training. */
export interface HeadTrying extends Pick<HeadTrial, 'how' | 'peers'> {
  /** Of the answers, 0 to 1. */
  fraction: number
}

export interface HeadPeer {
  peer: string
  version: number
  /** Own groups behind its weights, by its own count. */
  groups: number
  /** When its newest weights were averaged, ms since the epoch. */
  at: number
  /** Its newest weights were so far away that they were tried, or counted for less where nothing can be tried. */
  isClipped: boolean
}
