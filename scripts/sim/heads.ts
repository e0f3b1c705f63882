// Many nodes of one lineage that average their weights. The exchange, its hourly limit and the counts of groups are the
// daemon's; a model is a small vector, a step moves it by what all nodes have in common and by noise of the same length,
// and links lose nothing. Says what a node sends, how far nodes are apart, and how long a head that is far ahead takes to
// reach all. A node takes a head that is ahead without a trial.
//
//   npm run -s sim:heads -- --nodes 1000 --minutes 60 --limit 10

import { parseArgs } from 'node:util'
import { randomStream } from '../../daemon/host/random.ts'
import { createHourlyBytes } from '../../daemon/swarm/heads/hourly-bytes.ts'
import {
  createHeadExchange,
  type FetchedHead,
  type Learnt,
  STEPS_BETWEEN_HEADS,
} from '../../daemon/trainer/heads/exchange.ts'
import { createPartners } from '../../daemon/trainer/heads/partners.ts'
import { distance, type Vector } from '../../daemon/trainer/heads/vector.ts'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '60' },
    /** Seconds between two steps of a node, about. */
    step: { type: 'string', default: '15' },
    /** Peers that a node is connected with, about. */
    degree: { type: 'string', default: '16' },
    /** MB of a head, as the limit counts it. */
    size: { type: 'string', default: '1.1' },
    /** MB an hour, up and down each; 0 is no limit. */
    limit: { type: 'string', default: '0' },
    /** Share of the nodes that are replaced by newcomers in an hour. */
    churn: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
})
const [count, minutes, stepSeconds, degree, size, limit, churn, seed] = (
  ['nodes', 'minutes', 'step', 'degree', 'size', 'limit', 'churn', 'seed'] as const
).map((name) => Number(values[name])) as [number, number, number, number, number, number, number, number]

const DIMENSIONS = 64
/** As in the daemon: steps between two heads, and peers that are asked for theirs. */
const ASKED = 8
const BYTES = size * 1e6
/** Groups behind the head that is far ahead at the start. */
const AHEAD = 1_000_000

const random = randomStream(seed, 'heads')
const layout = { size: DIMENSIONS, tensors: [{ name: 'w', at: 0, length: DIMENSIONS }] }
const origin = new Float32Array(DIMENSIONS)
let seconds = 0
const clock = { now: () => seconds * 1000, after: () => () => {} }

function createMember(name: string, own = 0) {
  const hourly = () => createHourlyBytes({ most: () => limit * 1e6 }, { clock })
  return {
    name,
    exchange: createHeadExchange({
      ...{
        layout,
        origin: () => origin,
        every: STEPS_BETWEEN_HEADS,
        learningRate: () => 1e-4,
        batchGroups: () => 8,
      },
    }),
    partners: createPartners(clock),
    limits: { in: hourly(), out: hourly() },
    weights: new Float32Array(DIMENSIONS) as Vector,
    version: 0,
    learnt: { own, foreign: 0 } as Learnt,
    offered: undefined as FetchedHead | undefined,
    offeredAt: 0,
    fetched: new Map<string, number>(),
    isThere: own > 0,
  }
}
type Member = ReturnType<typeof createMember>

const members = Array.from({ length: count }, (_, i) => createMember(`${i}`, i === 0 ? AHEAD : 0))
const peers = members.map((_, i) => {
  const some = new Set<number>()
  while (some.size < Math.min(degree, count - 1)) {
    const other = Math.floor(random() * count)
    if (other !== i) some.add(other)
  }
  return [...some]
})
const gaussian = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const traffic = { sent: 0, refused: 0, joined: 0, clipped: 0 }
const behindOf = ({ learnt, partners }: Member): Learnt => ({
  own: learnt.own,
  foreign: partners.groups(learnt.foreign),
})

/** The common direction is the first axis; noise is as long, in all others. */
function step(member: Member): void {
  member.weights = member.weights.slice()
  member.weights[0]! += 1
  for (let i = 1; i < DIMENSIONS; i++) member.weights[i]! += gaussian() / Math.sqrt(DIMENSIONS - 1)
  member.version += 1
  member.learnt = { ...member.learnt, own: member.learnt.own + 2 }
}

function takeWhatCame(member: Member): void {
  const { exchange, partners, version } = member
  const learnt = behindOf(member)
  // Without trials, only far more work counts.
  const [ahead] = exchange.ahead(learnt, { mayFollow: () => false })
  if (ahead) {
    member.weights = exchange.open(ahead).weights
    partners.took(ahead, learnt.own)
    exchange.reset()
    exchange.admit([ahead.author], version)
    member.isThere ||= ahead.own + ahead.foreign >= AHEAD
    return
  }
  const joined = exchange.join({ version, weights: member.weights, learnt })
  member.weights = joined.weights
  partners.joined(joined.heads)
  traffic.joined += joined.heads.length
  traffic.clipped += joined.heads.filter(({ isClipped }) => isClipped).length
}

function exchangeHeads(member: Member, place: number): void {
  const { exchange, version, weights, name } = member
  const bytes = exchange.make({ version, weights, at: seconds })
  member.offered = { author: name, version, hash: '', ...behindOf(member), bytes }
  member.offeredAt = seconds
  const order = [...peers[place]!].sort(() => random() - 0.5).slice(0, ASKED)
  const byName = new Map(order.map((at) => [members[at]!.name, members[at]!]))
  for (const peer of exchange.ask([...byName.keys()], weights)) {
    const other = byName.get(peer)!
    if (other.offered && member.fetched.get(peer) !== other.offered.version)
      fetch(member, other, other.offered)
    exchange.answered(peer)
  }
}

function fetch(member: Member, other: Member, head: FetchedHead): void {
  const up = other.limits.out.take(BYTES)
  const down = up && member.limits.in.take(BYTES)
  if (!down) {
    up?.(BYTES)
    traffic.refused++
    return
  }
  traffic.sent++
  member.fetched.set(other.name, head.version)
  member.exchange.take({ ...head, age: seconds - other.offeredAt })
}

const started = performance.now()
const arrivals = new Map<number, number>()
let born = count
for (; seconds < minutes * 60; seconds++) {
  for (const [place, member] of members.entries()) {
    if (random() < (churn * 1) / 3600) {
      members[place] = createMember(`${born++}`)
      continue
    }
    // Heads that were asked for a second ago have come.
    if (member.exchange.isReady) takeWhatCame(member)
    if (random() < 1 / stepSeconds) step(member)
    if (member.exchange.isDue(member.version)) exchangeHeads(member, place)
  }
  const there = members.filter(({ isThere }) => isThere).length / members.length
  for (const share of [0.5, 0.9, 0.99, 1])
    if (there >= share && !arrivals.has(share)) arrivals.set(share, seconds)
}

const middle = new Float32Array(DIMENSIONS)
for (const { weights } of members)
  for (let i = 0; i < DIMENSIONS; i++) middle[i]! += weights[i]! / members.length
const apart = members.map(({ weights }) => distance(weights, middle)).sort((a, b) => a - b)
const quantile = (share: number): string => apart[Math.floor(share * (apart.length - 1))]!.toFixed(1)
const perNodeHour = (value: number): string => (value / count / (minutes / 60)).toFixed(1)
console.log(
  [
    `${count} nodes, ${minutes} minutes, a step each ${stepSeconds} s, heads of ${size} MB, ${limit || 'no'} limit, churn ${churn}`,
    `heads fetched a node and hour: ${perNodeHour(traffic.sent)} (${perNodeHour(traffic.sent * size)} MB each way), refused by the limit: ${perNodeHour(traffic.refused)}, joined: ${perNodeHour(traffic.joined)}, clipped: ${perNodeHour(traffic.clipped)}`,
    `the head that is far ahead has reached ${[...arrivals].map(([share, at]) => `${100 * share} % after ${at} s`).join(', ') || 'less than half'}`,
    `distance from the mean of all, in own steps: median ${quantile(0.5)}, 90 % ${quantile(0.9)}, most ${quantile(1)}`,
    `${((performance.now() - started) / 1000).toFixed(0)} s`,
  ].join('\n'),
)
