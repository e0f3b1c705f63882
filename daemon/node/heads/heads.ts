// The daemon's part in the exchange of heads: it asks peers that this user trusts for theirs, and joins what has arrived
// between two updates. What is due, and how heads are joined, is decided in ../trainer/heads.

import {
  type HeadsInfo,
  type Phases,
  type WeightsMet,
  weightsLimitText,
} from '../../../protocol/api/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import type { HeadTask } from '../../../protocol/wire/index.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { TeachingHead } from '../../policy/teachers.ts'
import type { JoinedPeers } from '../../policy/trained.ts'
import { nameOf } from '../../trainer/guards/level.ts'
import {
  createHeadExchange,
  hasMore,
  type Learnt,
  STEPS_BETWEEN_HEADS,
} from '../../trainer/heads/exchange.ts'
import { createFarRules } from '../../trainer/heads/far-rules.ts'
import { createFollowing } from '../../trainer/heads/following.ts'
import type { AddedHead, AuditedWeights } from '../../trainer/heads/join.ts'
import { createPartners, type Partner } from '../../trainer/heads/partners.ts'
import type { Probation } from '../../trainer/heads/probation.ts'
import { createTeachingHeads } from '../../trainer/heads/teaching.ts'
import { layoutOf, toVector, toWeights, type Vector } from '../../trainer/heads/vector.ts'
import { createHeadWatch } from '../../trainer/heads/watch.ts'
import type { NodeAudits } from '../audits/audits.ts'
import { type AskingParts, createAsking } from './asking.ts'
import { trainerOf, trainsOn } from './division.ts'
import { createMeeting } from './meeting.ts'
import { createReaders } from './readers.ts'
import { createTrials, type TrialParts } from './trials.ts'

export interface HeadsParts extends Omit<AskingParts, 'isOut'>, TrialParts {
  /** This node's peer ID. */
  self: string
  /** Too few of the author's tokens were seen to say who writes them. */
  isUnknown(author: string): boolean
  policy: LivePolicy
  /** What an earlier run knew about peers that did harm. */
  probation: Probation
  /** The peers whose work is in the weights that the node continues with, from its checkpoint. */
  joined?: JoinedPeers | undefined
  /** Whether this node sends and takes weights at present. */
  isOn(): boolean
  /** Whether the heads of peers that are not trusted may teach. */
  mayTeach(): boolean
  learningRate(): number
  batchGroups(): number
  /** Bytes of weights an hour beyond the local network; 0 for no limit. */
  mostPerHour(): number
  /** Paused by the user, or held back by limits: then nothing is exchanged. */
  mustWait(): boolean
  learnt(): Learnt
  /** This node's accuracy by task, for peers. */
  tasks(): HeadTask[]
  phases: Pick<Phases, 'run'>
  now(): number
  after(ms: number, run: () => void): () => void
  log(message: string): void
  /** Peers' weights have done harm: training has to go back to a checkpoint of that version or before. */
  alarm(message: string, goodAt: number): void
  /** Whether others follow this node's steps by receipts. */
  hasReceipts(): boolean
  /** What receipts say of heads (../audits). */
  audits?: Pick<NodeAudits, 'joined' | 'made' | 'cost'> | undefined
}

export interface NodeHeads {
  /**
   * Call between two updates, while nothing else uses the trainer. Joins what has arrived, and begins an exchange. `signal`:
   * the node stops, so a trial ends without a verdict.
   */
  exchange(signal?: AbortSignal): Promise<void>
  /** What becomes of the weights of a peer that was just joined. Resolves once that is known, or it takes too long. */
  meet(peer: string, signal?: AbortSignal): Promise<WeightsMet>
  /** Whether a group is of use to any connected peer. Call once for each that may be sent. */
  isRead(): boolean
  /** Call with each own group that has been written. */
  ownGroup(group: Pick<Group, 'prompt' | 'rollouts'>): void
  /** The weights went back to a checkpoint in which these peers' work is. */
  goBack(joined: JoinedPeers | undefined): void
  /** The peer's weights were found to be forged: they are not averaged for a while, and then only after a trial. */
  refuse(peer: string): void
  /** Neither trusted nor on probation: weights count only as far as audits say. */
  isStranger(peer: string): boolean
  /** This node's weights at its newest head: what weights that are asked for now are compared with. */
  newest(): Vector | undefined
  /** Weights of a stranger that passed audits (../audits/follow.ts). */
  takeAudited(weights: AuditedWeights): void
  /** Heads of strangers that may teach now; none of them is ever joined. */
  teaching(): readonly TeachingHead[]
  /** The peers whose work is in the weights, for a checkpoint. */
  joined(): JoinedPeers | undefined
  /** Whether the peer's weights were joined lately. */
  isJoined(peer: string): boolean
  /** The same, or they soon are for the first time: so its groups need not be trained on. */
  isAveraged(peer: string): boolean
  /** What a group teaches comes with a peer's weights: its author's, or those of the peer that trains on it. */
  isTrainedElsewhere(group: Pick<Group, 'author' | 'prompt'>): boolean
  /** How many learn together, this one included; a peer whose heads come seldom counts less. */
  readonly nodes: number
  /** Undefined while the node neither sends nor takes weights. */
  info(): HeadsInfo | undefined
}

/** Exchanges between two in which strangers are asked for heads that may teach. */
const TEACHERS_EVERY = 8
/** Larger models exchange nothing while all their parameters are trained: five copies of them are held meanwhile. */
const MAX_VALUES = 64e6

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short methods over one exchange of weights.
export function createNodeHeads(parts: HeadsParts): NodeHeads {
  const { policy, probation, phases, now } = parts
  const layout = layoutOf(policy.spec)
  const isOn = (): boolean => layout.size <= MAX_VALUES && parts.isOn()
  const origin = (): Vector => toVector(layout, policy.initial)
  const exchange = createHeadExchange({
    ...{ layout, origin, every: STEPS_BETWEEN_HEADS },
    ...{ learningRate: parts.learningRate, batchGroups: parts.batchGroups },
    isFollowed: parts.hasReceipts,
  })
  const teaching = createTeachingHeads({ layout, origin })
  const partners = createPartners({ now })
  partners.restore(parts.joined)
  const following = createFollowing()
  const watch = createHeadWatch()
  // Suspects return by a trial.
  const isOut = (peer: string): boolean =>
    probation.isOut(peer, policy.reference().version) || (probation.isSuspect(peer) && !parts.canTry())
  const asking = createAsking({ size: exchange.size, lineage: policy.lineage }, { ...parts, isOut })
  const here = (): Partner[] => partners.list().filter(({ author }) => !isOut(author))
  const tellReceipts = async (added: readonly AddedHead[]): Promise<void> => parts.audits?.joined(added)
  const trials = createTrials(
    { layout },
    {
      ...{ ...parts, exchange, partners, probation, following, learnt: () => behind() },
      ...{ forget: asking.forget, exchanges: () => exchanges, taken: tellReceipts },
    },
  )
  const isAllowed = (peer: string): boolean => isOn() && parts.isTrusted(peer) && !isOut(peer)
  const isJoined = (peer: string): boolean => isAllowed(peer) && partners.has(peer)
  const hasAsked = (peer: string): boolean => parts.swarm()?.heads.hasAsked(peer) === true
  /** Before its second head, a node cannot have joined all: they come while it writes its first groups. */
  const isFirst = (): boolean => exchanges === 1
  const isAveraged = (peer: string): boolean =>
    isJoined(peer) || (isFirst() && isAllowed(peer) && (asking.isAsking(peer) || hasAsked(peer)))
  const connected = (): string[] =>
    (parts.swarm()?.peers() ?? []).flatMap(({ id, connected: isHere }) => (isHere ? [id] : []))
  const isRead = createReaders({
    ...{ peers: connected, isAveraged },
    isTaking: (peer) => parts.swarm()?.heads.isTaking(peer) === true || (isFirst() && hasAsked(peer)),
  })
  let exchanges = 0
  /** Since the newest exchange: peers that were asked because they had asked. */
  const askedBack = new Set<string>()
  /** Weights at the newest own head. */
  let newest: Vector | undefined
  /** Asks at once, without waiting for further steps. */
  let isHurried = false

  const isBehind = (peer: string): boolean => {
    const theirs = asking.groups(peer)
    return theirs !== undefined && hasMore(behind(), { own: theirs, foreign: 0 })
  }
  const meeting = createMeeting({
    ...{ trials, partners, probation, following, asking, now, isOut },
    isBehind,
    peers: () => here().length,
    after: parts.after,
    mustWait: parts.mustWait,
    ask() {
      isHurried = true
      parts.wake()
    },
  })

  const weights = async (): Promise<Vector> => toVector(layout, await policy.trainer.weights())
  const behind = (): Learnt => {
    const { own, foreign } = parts.learnt()
    return { own, foreign: partners.groups(foreign) }
  }

  /** Once, when there is somebody to average with. */
  let isLimitTold = false
  const tellLimit = (): void => {
    const mostPerHour = parts.mostPerHour()
    if (isLimitTold || mostPerHour === 0) return
    isLimitTold = true
    parts.log(weightsLimitText({ size: exchange.size, mostPerHour }))
  }

  /** `joined`: what the weights became a moment ago, if heads were joined. */
  const begin = async (joined: Vector | undefined): Promise<void> => {
    const { version } = policy.reference()
    const present = joined ?? (await weights())
    const bytes = exchange.make({ version, weights: present, at: now() })
    newest = present
    const facts = { lineage: policy.lineage, version, ...behind(), tasks: parts.tasks() }
    parts.swarm()?.heads.offer(facts, bytes)
    await parts.audits?.made({ bytes, weights: present })
    // Teachers need not be as fresh, and come after the heads that are averaged, whose bytes count as well.
    const asksTeachers = parts.mayTeach() && exchanges % TEACHERS_EVERY === 0
    // After its pause, the same head may be better than this node's weights.
    const trusted = asking.trusted()
    for (const peer of trusted) if (following.isPaused(peer, exchanges)) asking.forget(peer)
    exchanges++
    isHurried = false
    askedBack.clear()
    const peers = exchange.ask(trusted.filter(trials.mayAsk), present)
    if (peers.length > 0) tellLimit()
    void asking.all(peers, exchange).finally(() => {
      if (!exchange.isReady) meeting.tell()
      parts.wake()
      if (asksTeachers) void asking.all(asking.strangers(), { take: teaching.take, answered() {} })
    })
  }

  /** Nodes that begin together make their first heads one after another: whoever asks now has one. */
  const askNew = (): void => {
    const isThere = (peer: string): boolean =>
      asking.isNew(peer) && hasAsked(peer) && !askedBack.has(peer) && trials.mayAsk(peer)
    const peers = newest ? exchange.ask(asking.trusted().filter(isThere), newest) : []
    for (const peer of peers) askedBack.add(peer)
    void asking.all(peers, exchange)
  }

  const join = async (present: Vector): Promise<Vector> => {
    const { version } = policy.reference()
    const joined = exchange.join({ version, weights: present, learnt: behind() })
    if (joined.heads.length > 0) await policy.replace(toWeights(layout, joined.weights))
    partners.joined(joined.heads)
    await tellReceipts(joined.added)
    return joined.weights
  }

  const rules = createFarRules({
    ...{ partners, probation, chosen: parts.chosen, learnt: () => behind() },
    isPaused: (peer) => following.isPaused(peer, exchanges),
  })
  const takeWhatCame = async (): Promise<Vector | undefined> => {
    // What comes while this is waited for is looked at below, too.
    const present = await weights()
    // A node that cannot try weights takes all, bounded by its own steps.
    if (!parts.canTry()) return join(present)
    const [leader] = trials.trying?.how === 'caught up' ? trials.trying.peers : []
    const newer = leader === undefined ? undefined : exchange.pick(leader)
    if (newer) trials.renew(exchange.open(newer))
    const ahead = exchange.ahead(behind(), rules)
    const apart = exchange.apart(behind(), rules)
    const joined = exchange.isReady ? await join(present) : undefined
    const first = ahead[0] ?? apart.find(({ author }) => probation.isSuspect(author))
    const tried = trials.trying ? [] : first ? [first] : apart
    // What is not tried now is fetched again.
    for (const head of [...ahead, ...apart]) if (!tried.includes(head)) asking.forget(head.author)
    if (tried.length === 0) return joined
    const heads = tried.map(exchange.open)
    await (ahead.length > 0 ? trials.catchUp(heads[0]!) : trials.merge(heads))
    return joined
  }
  const joinOrTry = async (signal: AbortSignal | undefined): Promise<Vector | undefined> => {
    const joined = exchange.isReady ? await phases.run('join', {}, takeWhatCame) : undefined
    const isTrying = trials.trying !== undefined
    if (isTrying) await trials.goOn(signal)
    meeting.tell()
    // A trial may have replaced the weights.
    return isTrying ? undefined : joined
  }

  /** The user may have taken trust back since they were asked, or left a private swarm. */
  const dropUntrusted = (): void => {
    const isGone = (peer: string): boolean => !isAllowed(peer)
    exchange.dismiss(exchange.waiting.filter(isGone))
    if (trials.trying?.peers.some(isGone)) trials.stop()
  }

  return {
    async meet(peer, signal) {
      if (!isOn()) return { outcome: 'off' }
      return parts.isTrusted(peer) ? meeting.meet(peer, signal) : { outcome: 'untrusted' }
    },

    async exchange(signal) {
      if (!isOn()) {
        // The setting may have changed while the node runs.
        parts.swarm()?.heads.withdraw()
        trials.stop()
        return
      }
      dropUntrusted()
      const joined = trials.trying || exchange.isReady ? await joinOrTry(signal) : undefined
      if (signal?.aborted) return
      const isDue = isHurried || exchange.isDue(policy.reference().version)
      // Nobody could fetch a head.
      if (isDue && connected().length > 0) await phases.run('join', {}, () => begin(joined))
      else askNew()
    },
    isRead,
    ownGroup({ prompt, rollouts }) {
      exchange.wrote()
      if (!isOn() || here().length === 0) return
      const reward = rollouts.reduce((sum, one) => sum + one.reward, 0) / rollouts.length
      const fall = watch.ownGroup(nameOf(prompt), reward, policy.reference().version)
      if (fall) parts.alarm(fall.message, fall.goodAt)
    },
    goBack(joined) {
      const suspects = partners.since(joined)
      trials.stop()
      for (const peer of exchange.waiting) asking.forget(peer)
      exchange.reset()
      exchange.dismiss(suspects)
      watch.reset()
      partners.restore(joined)
      probation.put(suspects, policy.reference().version)
      if (suspects.length > 0) parts.log(`weights of ${suspects.length} peers are not averaged for a while`)
    },
    refuse(peer) {
      trials.refuse(peer)
      exchange.dismiss([peer])
      probation.put([peer], policy.reference().version)
    },
    isStranger: (peer) => isOn() && !parts.isTrusted(peer) && !isOut(peer),
    newest: () => newest,
    takeAudited(weights) {
      if (!isOn() || trials.trying || isOut(weights.author)) return
      exchange.takeAudited(weights)
      parts.wake()
    },
    teaching: () => (isOn() && parts.mayTeach() ? teaching.list() : []),
    joined: partners.save,
    isJoined,
    isAveraged,
    isTrainedElsewhere(group) {
      if (isAveraged(group.author)) return true
      // To know an author, a node has to see its groups.
      if (parts.isUnknown(group.author)) return false
      const averaged = here().filter((one) => isJoined(one.author) && trainsOn(one, group))
      if (averaged.length === 0) return false
      const isHere = new Set(connected())
      const trainers = averaged.map(({ author }) => author).filter((author) => isHere.has(author))
      return trainerOf(group, [parts.self, ...trainers]) !== parts.self
    },
    get nodes() {
      return isOn() ? exchange.nodesAt(policy.reference().version) : 1
    },
    info() {
      if (!isOn()) return undefined
      const { in: bytesIn, out: bytesOut } = parts.swarm()?.heads.bytes ?? { in: 0, out: 0 }
      const mostPerHour = parts.mostPerHour()
      const audits = parts.audits?.cost()
      return {
        ...{ lineage: policy.lineage, size: exchange.size, exchanges, bytesIn, bytesOut },
        refused: asking.refused,
        out: asking.out(),
        peers: here().map(({ author, version, own, at, isClipped }) => ({
          ...{ peer: author, version, groups: own, at, isClipped },
        })),
        ...(audits && { audits }),
        ...(mostPerHour > 0 && { limit: { mostPerHour, held: parts.swarm()?.heads.held ?? 0 } }),
        ...(trials.newest && { trial: trials.newest }),
        ...(trials.trying && { trying: trials.trying }),
      }
    },
  }
}
