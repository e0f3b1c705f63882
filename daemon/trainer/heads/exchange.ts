// One node's part in the exchange of heads: when its own head is due, which heads of peers it takes, and how it joins
// them. It has no loop, no clock and no network. In a daemon the train loop drives it; experiments and the simulation
// drive many.
//
// Nobody waits for anybody. Every so many optimizer steps a node makes its head, which peers can fetch. It asks peers
// for theirs, goes on training, and joins what has come between two steps. Of each peer one head at most is on its way.

import type { HeadTask } from '../../../protocol/wire/index.ts'
import { createAsked } from './asked.ts'
import { packedSize, packOff, unpackBeside } from './blocks.ts'
import { type AddedHead, type AuditedWeights, type ComparedHead, join } from './join.ts'
import { createMembers } from './members.ts'
import { createPace } from './pace.ts'
import { addDifference, distance, type Layout, norm, type Vector } from './vector.ts'

export interface HeadExchangeOptions {
  layout: Layout
  /** The values that all nodes of the lineage began with. Asked for when the first head is made. */
  origin(): Vector
  /** Optimizer steps between two heads of this node. */
  every: number
  /** The learning rate now: it says how far steps can lead, until this node has made some. */
  learningRate(): number
  /** Groups of a batch, if this node were alone. */
  batchGroups(): number
  /** Whether others follow its steps by receipts. Default: no. */
  isFollowed?(): boolean
}

/** Groups behind a node's weights: its own, and those of others. */
export interface Learnt {
  own: number
  foreign: number
}

/** A fetched head of a peer that may be averaged in. Its counts are the peer's claim. */
export interface FetchedHead extends Learnt {
  author: string
  version: number
  /** SHA-256 of the bytes. */
  hash: string
  /** What the peer trains on, as far as it says. */
  tasks?: readonly Pick<HeadTask, 'name' | 'difficulty'>[]
  /** How old it was when the peer was asked; in the daemon, ms. Its claim. Default: 0. */
  age?: number | undefined
  bytes: Uint8Array
}

/** A head that is in this node's weights now. */
export interface JoinedHead extends Pick<FetchedHead, 'author' | 'version' | 'own' | 'tasks'> {
  /** It was too far away: it was tried, or counted for less where nothing can be tried. */
  isClipped: boolean
}

/** A head that is tried before it is taken. */
export interface TriedHead extends Omit<FetchedHead, 'bytes'> {
  weights: Vector
}

/** How this node treats heads that are far away. */
export interface FarRules {
  isSuspect(peer: string): boolean
  /** With more work behind it, this node may stand where its peer stands. */
  mayFollow(head: FetchedHead): boolean
  /** It is not tried now. */
  isLeft(head: FetchedHead): boolean
}

export interface HeadExchange {
  /** Bytes of a head. */
  readonly size: number
  /**
   * Whether a head is due: it is so many steps since the last one, or there was none. The second comes a step after the
   * first, so that a node knows early how far its steps lead, or, if own groups teach nothing, after as many as make so many
   * batches.
   */
  isDue(version: number): boolean
  /** This node has written a group. */
  wrote(): void
  /** Makes a head: the bytes that peers get. `at`: the time by any clock, in the unit of the ages of heads. */
  make(now: { version: number; weights: Vector; at: number }): Uint8Array<ArrayBuffer>
  /**
   * The peers among these to ask now: those that are not being asked already. What they send is compared with these weights,
   * of which a head was just made; an older head, with these weights without the steps since the head before.
   */
  ask(peers: readonly string[], weights: Vector): string[]
  /** Takes a head. `late`: it was not asked for, or before a reset. */
  take(head: FetchedHead): 'taken' | 'malformed' | 'late'
  /** The peer has answered, or will not. */
  answered(peer: string): void
  /** Takes weights of a stranger, to be joined. All strangers together count like one newcomer. */
  takeAudited(weights: AuditedWeights): void
  /**
   * How many learn together at this version: this node, and the heads that have come for each of its own lately. So a peer
   * counts less if its heads come seldom, because less noise is averaged away then.
   */
  nodesAt(version: number): number
  /** Whether there is something to join. */
  readonly isReady: boolean
  /** Peers whose heads have come and wait. */
  readonly waiting: readonly string[]
  /**
   * The heads of peers where this node may stand, most work first: with far more behind them, or more. They are far away, or
   * this node cannot tell yet, and wait no more.
   */
  ahead(learnt: Learnt, rules: Pick<FarRules, 'mayFollow'>): FetchedHead[]
  /**
   * Heads to try before they are joined, which wait no more: those of suspects first, to be tried one by one, then those far
   * from this node. Far is what own steps do not lead, or could not while there were none. Those with far less work behind
   * them wait no more either, but are left: their nodes will catch up.
   */
  apart(learnt: Learnt, rules: Pick<FarRules, 'isSuspect' | 'isLeft'>): FetchedHead[]
  /** For a trial: with a copy of the weights. */
  open(head: FetchedHead): TriedHead
  /** The share of each of these heads, if they were joined, among all nodes. */
  share(version: number, heads: readonly TriedHead[]): number
  /** How far a peer may have gone on while this node made so many steps: the square root of them, as of steps in all directions. */
  farthest(steps: number): number
  /** Takes what has come of this peer, if something has: it waits no more. */
  pick(peer: string): FetchedHead | undefined
  /** The heads of these peers are in the weights now. */
  admit(peers: readonly string[], version: number): void
  /** These peers are no members any more, and what waits of them, or is on its way, is not joined. */
  dismiss(peers: readonly string[]): void
  /** Joins what has come, without far heads that have far less work behind them: their nodes will catch up. */
  join(now: { version: number; weights: Vector; learnt: Learnt }): {
    weights: Vector
    heads: JoinedHead[]
    /** The same heads, in the order in which they were added. */
    added: AddedHead[]
  }
  /** The weights were replaced by others, as by a roll-back: what was asked for does not belong to them. */
  reset(): void
}

type Waiting = FetchedHead & Omit<ComparedHead, 'weights'>

/** Optimizer steps between two heads, in the daemon and in the simulation. */
export const STEPS_BETWEEN_HEADS = 4
/**
 * A head so many times as far away as own steps lead between two heads is too far. Honest ones came within 2.7, in one process
 * also two rounds late, and among eight daemons with steps of two groups, in one run each (docs/results/simulation.md).
 */
const FARTHEST = 3
/**
 * A head counts at most like one so many times as far away as own steps lead. Of honest ones of eight daemons half are nearer
 * than 1.7, and 90 % than 2.2 (one run). Shortened to once, they no longer held each other together: after 30 steps most were
 * too far away, and what the nodes had learnt was lost again.
 */
const LONGEST = 2
/** No training makes weights so many times as long. A trial of them would cost this node, and not their sender. */
const ABSURD = 100
/** One node is far ahead of another if it has so many times the other's groups behind it, and some more. */
const AHEAD = { times: 2, groups: 16 }

export function createHeadExchange({ layout, every, ...options }: HeadExchangeOptions): HeadExchange {
  /** What rounding has lost so far. Made with the first head: a node alone needs no copies of its weights. */
  let lost: Vector | undefined
  const contents = createContents(options.origin)
  const pace = createPace({ ...options, every, values: layout.size })
  const asked = createAsked({ isFollowed: () => options.isFollowed?.() ?? false })
  let waiting = new Map<string, Waiting>()
  let audited = new Map<string, AuditedWeights>()
  // Of nodes that begin together, one is easily a few steps ahead, and the first steps are the smallest.
  const isEarly = (): boolean => (pace.madeAt ?? 0) < every
  const isFar = ({ apart }: Waiting): boolean => !isEarly() && apart > FARTHEST * pace.reach
  const members = createMembers({ every })

  return {
    size: packedSize(layout.size),
    ...{ isDue: pace.isDue, wrote: pace.wrote, ask: asked.ask, answered: asked.answered },

    make({ version, weights, at }) {
      asked.made(at, pace.made({ version, weights }))
      members.made(version)
      lost ??= new Float32Array(layout.size)
      return packBeside(weights, contents.origin(), lost)
    },

    take(head) {
      const beside = asked.beside(head.author, head.age ?? 0)
      if (!beside) return 'late'
      const weights = contents.look(head.bytes)
      if (!weights) return 'malformed'
      const apart = distance(weights, beside)
      if (apart > ABSURD && apart > ABSURD * norm(beside)) return 'malformed'
      waiting.set(head.author, { ...head, beside, apart })
      return 'taken'
    },

    get isReady() {
      return waiting.size + audited.size > 0
    },

    get waiting() {
      return [...waiting.keys()]
    },

    takeAudited(one) {
      audited.set(one.author, one)
    },

    ahead(learnt, { mayFollow }) {
      const leads = (head: Waiting): boolean =>
        isAhead(head, learnt)
          ? isEarly() || isFar(head)
          : isFar(head) && hasMore(head, learnt) && mayFollow(head)
      const all = [...waiting.values()].filter(leads).sort((a, b) => groupsOf(b) - groupsOf(a))
      for (const { author } of all) waiting.delete(author)
      return all
    },

    apart(learnt, { isSuspect, isLeft }) {
      const suspects = [...waiting.values()].filter(({ author }) => isSuspect(author))
      const far = [...waiting.values()].filter(isFar)
      for (const { author } of [...suspects, ...far]) waiting.delete(author)
      const others = far.filter((head) => !isSuspect(head.author))
      return [...suspects, ...others.filter((head) => !isAhead(learnt, head) && !isLeft(head))]
    },

    open: ({ bytes, ...head }) => ({ ...head, weights: contents.copy(bytes)! }),
    share: (version, heads) => 1 / (1 + members.count(version, heads.map(authorOf))),

    farthest: (steps) => FARTHEST * pace.reach * Math.sqrt(Math.max(1, steps / every)),
    pick: (peer) => takeOut(waiting, peer),

    admit: members.admit,
    dismiss(peers) {
      members.dismiss(peers)
      for (const peer of peers) {
        asked.answered(peer)
        waiting.delete(peer)
        audited.delete(peer)
      }
    },
    nodesAt: members.nodesAt,

    join({ version, weights, learnt }) {
      // Nearer ones hardly pull this node back, whatever their nodes, or others, say of their work.
      const heads = [...waiting.values()].filter((head) => !(isFar(head) && isAhead(learnt, head)))
      // Before its own first steps, a node cannot say how far is too far for a stranger.
      const strangers = pace.movement > 0 ? near(audited.values(), FARTHEST * pace.movement) : []
      waiting = new Map()
      audited = new Map()
      members.admit(heads.map(authorOf), version)
      // What strangers say of their work counts for nothing.
      const all = [
        ...heads.map((head) => ({ ...head, weights: () => contents.look(head.bytes)! })),
        ...strangers.map((one) => ({ ...one, own: 0, weights: () => one.weights })),
      ]
      const nodes = 1 + members.count(version) + Math.min(1, strangers.length)
      const joined = join(weights, all, { nodes, farthest: LONGEST * pace.reach })
      contents.close()
      pace.joined({ before: weights, after: joined.weights })
      return toldOf(all, joined, FARTHEST * pace.reach)
    },

    reset() {
      asked.reset()
      waiting = new Map()
      audited = new Map()
      pace.reset()
      lost = undefined
    },
  }
}

/** What heads stand for, beside the values that all nodes began with. */
function createContents(originOf: () => Vector) {
  let start: Vector | undefined
  /** The head that is looked at is unpacked into this. */
  let room: Vector | undefined
  const origin = (): Vector => {
    start ??= originOf()
    return start
  }
  return {
    origin,
    copy: (bytes: Uint8Array) => unpackBeside(origin(), bytes),
    /** Valid until another head is looked at. */
    look(bytes: Uint8Array): Vector | undefined {
      room ??= new Float32Array(origin().length)
      return unpackBeside(origin(), bytes, room)
    },
    close() {
      room = undefined
    },
  }
}

/** A forged step that no audit drew leaves its author elsewhere for good, so a stranger who is far away does not count. */
function near(strangers: Iterable<AuditedWeights>, farthest: number): (AuditedWeights & { apart: number })[] {
  return [...strangers]
    .map((one) => ({ ...one, apart: distance(one.weights, one.beside) }))
    .filter(({ apart }) => apart <= farthest)
}

function toldOf(
  heads: readonly (ComparedHead & Omit<JoinedHead, 'isClipped'> & { hash: string })[],
  { weights, added }: ReturnType<typeof join>,
  farthest: number,
): ReturnType<HeadExchange['join']> {
  return {
    weights,
    heads: heads.map(({ author, version, own, tasks, apart }) => ({
      ...{ author, version, own, isClipped: apart > farthest, ...(tasks && { tasks }) },
    })),
    added: heads.map(({ author, hash, beside }, i) => ({ author, hash, beside, share: added[i]!.share })),
  }
}

function takeOut<T>(all: Map<string, T>, key: string): T | undefined {
  const one = all.get(key)
  all.delete(key)
  return one
}

const authorOf = ({ author }: { author: string }): string => author
const groupsOf = ({ own, foreign }: Learnt): number => own + foreign
/** Whether one has any more work behind its weights than the other. */
export const hasMore = (one: Learnt, other: Learnt): boolean => groupsOf(one) > groupsOf(other)

/** Whether one has far more work behind its weights than the other. */
export function isAhead(one: Learnt, other: Learnt): boolean {
  return groupsOf(one) >= AHEAD.times * groupsOf(other) + AHEAD.groups
}

/** Packs how far the weights are from the origin, with what rounding has lost so far, and keeps what it loses now. */
export function packBeside(weights: Vector, origin: Vector, lost: Vector): Uint8Array<ArrayBuffer> {
  addDifference(lost, 1, weights, origin)
  return packOff(lost)
}
