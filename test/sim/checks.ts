// What must hold for each honest node of a simulation, whatever happens. It watches a node from outside, over all its
// lives, and reports a breach to the world.

import type { PoolEntry } from '../../daemon/store/pool/pool.ts'
import type { Offence, SavedReputation } from '../../daemon/swarm/peers/reputation.ts'
import type { Group } from '../../protocol/train/index.ts'
import { contentId, type Head } from '../../protocol/wire/index.ts'
import type { World } from './world.ts'

/** As in swarm/admission/admission.ts: what gossip and fetching may bring of one author. */
const AUTHOR = { gossip: { perSecond: 8, burst: 256 }, fetched: { perSecond: 8, burst: 1024 } }
/** Peer records, as in swarm/peers/records.ts; and frames that wait, as in swarm/admission/gossip-validator.ts. */
const BOUNDS = { records: 1024, reputation: 2048, waiting: 512, withoutOwn: 4 }

/** What honest nodes have written, which nobody can add to. */
export interface Truth {
  honest: Set<string>
  /** Content ids by author. */
  wrote: Map<string, Set<string>>
  /** Packed weights that they offered, by author. */
  heads: Map<string, Set<string>>
  /** Hostile nodes whose weights can be read, so that they may be joined for a while. */
  turncoats?: Set<string>
}

export const contentOf = ({ prompt, rollouts }: Group): string =>
  contentId(
    prompt,
    rollouts.map(({ text }) => text),
  )

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export type Checks = ReturnType<typeof createChecks>

export function createChecks(
  { name, self, maxStaleness }: { name: string; self: string; maxStaleness: number },
  { world, truth }: { world: World; truth: Truth },
) {
  const breach = (what: string): void => world.breach(`${name}: ${what}`)
  /** Policies that were being saved, by version: what a checkpoint of that version may hold. */
  const attempted = new Map<number, Set<number>>()
  /** The number of the newest checkpoint that must be there, or a newer one. */
  let floor = 0
  /** Groups that must be in the pool after a restart, and how often they had been used. */
  let flushed = new Map<string, number>()
  /** Groups that the present weights have learnt from, with the version that they made. */
  let learnt = new Map<string, number>()
  /** Peers that were cut off, until when, as it was saved. */
  let bans = new Map<string, number>()
  /** What each author has left of its quotas, over all lives. */
  const left = new Map<string, { level: number; at: number }>()
  /** The clock jumped, or the disk failed, so that a restart may rightly think that much time has passed. */
  let isQuotaLost = false
  let withoutOwn = 0
  let version = -1
  const tally = { lives: 0, steps: 0, saves: 0, foreign: 0, admitted: 0, heads: 0 }
  /** Peers whose weights have arrived. */
  const sentWeights = new Set<string>()

  return {
    tally,

    /** A checkpoint is about to be written. */
    saving(at: number, skill: number): void {
      if (!Number.isFinite(skill)) breach(`a checkpoint of version ${at} is not finite`)
      attempted.set(at, (attempted.get(at) ?? new Set()).add(skill))
    },
    /** The node was told that the checkpoint is durable. */
    saved(sequence: number): void {
      tally.saves++
      floor = Math.max(floor, sequence)
    },
    /** Checkpoints after this one may be gone from now on. */
    discarding(sequence: number): void {
      floor = Math.min(floor, sequence)
    },
    /** The node was told that these are durable. */
    flushed(entries: Iterable<readonly [id: string, uses: number]>): void {
      flushed = new Map(entries)
    },
    banned(entries: readonly SavedReputation[]): void {
      bans = new Map(entries.map(({ id, until }) => [id, until]))
    },

    /** A life begins with this checkpoint; undefined if there is none. `kept`: what it had in memory when it died. */
    restarted(
      found: { sequence: number; version: number; skill: number } | undefined,
      pool: readonly PoolEntry[],
      kept: readonly PoolEntry[] | undefined,
      { isDamaged, isCut, now }: { isDamaged: boolean; isCut(peer: string): boolean; now: number },
    ): void {
      tally.lives++
      if (!isDamaged && (found?.sequence ?? 0) < floor)
        breach(
          `checkpoint ${floor} was acknowledged, and after a restart the newest is ${found?.sequence ?? 'none'}`,
        )
      const known = found && attempted.get(found.version)
      if (found && !known?.has(found.skill))
        breach(
          `the checkpoint of version ${found.version} holds ${found.skill}, which was never saved as that version`,
        )
      floor = found?.sequence ?? 0
      version = found?.version ?? 0
      learnt = new Map([...learnt].filter(([, at]) => at <= version))
      const there = new Map(pool.map(({ group, uses }) => [group.id, uses]))
      const before = new Set(kept?.map(({ group }) => group.id))
      for (const [id, uses] of isDamaged ? [] : flushed) {
        if (!before.has(id)) continue
        const now = there.get(id)
        if (now === undefined) breach(`group ${id.slice(0, 8)} was acknowledged, and is gone after a restart`)
        else if (now < uses) breach(`group ${id.slice(0, 8)} was used, and is unused after a restart`)
      }
      flushed = new Map()
      for (const [peer, until] of isDamaged ? [] : bans)
        if (until > now && !isCut(peer)) breach(`the ban of ${peer.slice(-6)} did not survive a restart`)
      if (isQuotaLost) left.clear()
      isQuotaLost = false
      withoutOwn = 0
    },
    /** Its disk is as it was at an earlier time. */
    putBack(): void {
      floor = 0
      flushed = new Map()
      bans = new Map()
      this.quotaLost()
    },
    passedForCopy(author: string): void {
      if (truth.honest.has(author)) breach(`a group of the honest ${author.slice(-6)} passes for a copy`)
    },
    quotaLost(): void {
      left.clear()
      isQuotaLost = true
    },

    /** A group of this author was admitted. */
    admitted(author: string, by: keyof typeof AUTHOR, at: number): void {
      tally.admitted++
      const { perSecond, burst } = AUTHOR[by]
      const of = left.get(`${by} ${author}`) ?? { level: burst + 1, at }
      of.level = Math.min(burst + 1, of.level + (Math.max(0, at - of.at) / 1000) * perSecond) - 1
      of.at = at
      left.set(`${by} ${author}`, of)
      if (of.level < 0) breach(`more groups of one author were admitted (${by}) than its quota allows`)
    },
    /** A verified group of a peer has arrived. */
    arrived(group: Group): void {
      tally.foreign++
      if (group.rollouts.some(({ reward }) => !(reward >= 0 && reward <= 1)))
        breach('a reward is out of range')
      if (truth.honest.has(group.author) && !truth.wrote.get(group.author)?.has(contentOf(group)))
        breach(`a group passes as one of ${group.author.slice(-6)}, which never wrote it`)
    },
    batch(groups: readonly Group[], now: number): void {
      for (const group of groups) {
        const key = `${group.author} ${contentOf(group)}`
        const at = learnt.get(key)
        if (at !== undefined)
          breach(
            `a group of ${group.author === self ? 'its own' : group.author.slice(-6)} is trained on again: it was in the batch of version ${at}`,
          )
        learnt.set(key, now + 1)
        if (now - group.bornVersion > maxStaleness)
          breach(`a group of age ${now - group.bornVersion} is trained on`)
        if (group.prompt.seed >= 2 ** 31) breach('a held-out prompt is trained on')
      }
    },
    /** An update failed or nothing was learnt: its groups count as untrained. */
    untrained(groups: readonly Group[]): void {
      for (const group of groups) learnt.delete(`${group.author} ${contentOf(group)}`)
    },
    stepped(groups: readonly Group[], now: number, isRolledBack: boolean): void {
      tally.steps++
      withoutOwn = groups.some(({ author }) => author === self) ? 0 : withoutOwn + 1
      if (withoutOwn > BOUNDS.withoutOwn) breach(`${withoutOwn} updates in a row had no own group`)
      if (now < version) breach(`the version fell from ${version} to ${now}`)
      version = now
      if (isRolledBack) learnt = new Map()
    },
    /** Whatever is bounded is within its bounds, and nobody honest was punished. */
    state({
      pool,
      capacity,
      records,
      reputation,
      waiting,
      skill,
      isCut,
      setAside,
    }: {
      pool: { own: number; foreign: number }
      capacity: number
      records: number
      reputation: number
      waiting: number
      skill: number
      isCut(peer: string): boolean
      setAside: readonly string[]
    }): void {
      if (pool.own > capacity || pool.foreign > capacity)
        breach(`the pool holds ${pool.own} own and ${pool.foreign} foreign groups`)
      if (records > BOUNDS.records) breach(`${records} peers are remembered`)
      if (reputation > BOUNDS.reputation) breach(`${reputation} reputations are kept`)
      if (waiting > BOUNDS.waiting) breach(`${waiting} groups wait for verification`)
      if (!Number.isFinite(skill)) breach('the weights are not finite')
      for (const peer of truth.honest)
        if (peer !== self && isCut(peer)) breach(`the honest ${peer.slice(-6)} is cut off`)
      for (const peer of setAside)
        if (truth.honest.has(peer)) breach(`the honest ${peer.slice(-6)} is set aside`)
    },
    /** It fetched the weights that a peer offered. */
    fetched(head: Head, lineage: string, bytes: Uint8Array): void {
      tally.heads++
      sentWeights.add(head.author)
      if (head.lineage !== lineage) breach('weights of another lineage were fetched')
      if (truth.honest.has(head.author) && !truth.heads.get(head.author)?.has(hexOf(bytes)))
        breach(`weights pass as those of ${head.author.slice(-6)}, which never offered them`)
    },
    /** Weights of these peers are in its own. */
    joined(peers: readonly string[]): void {
      for (const peer of peers) {
        if (!sentWeights.has(peer)) breach(`weights of ${peer.slice(-6)} were joined, and none had come`)
        if (!truth.honest.has(peer) && !truth.turncoats?.has(peer))
          breach(`the weights of the hostile ${peer.slice(-6)} were joined`)
      }
    },
    charged(peer: string, offence: Offence): void {
      if (offence === 'reject' && truth.honest.has(peer)) breach(`the honest ${peer.slice(-6)} is charged`)
    },
    /** Something failed that nothing may make fail. */
    failed: (what: string): void => breach(what),
  }
}
