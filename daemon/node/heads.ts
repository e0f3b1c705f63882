// The daemon's part in the exchange of heads: it asks peers that this user trusts for theirs, and joins what has arrived
// between two updates. What is due, and how heads are joined, is decided in ../trainer/heads.

import { type Evaluation, type HeadsInfo, type Phases, percent } from '../../protocol/api/index.ts'
import type { HeadTask } from '../../protocol/wire/index.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Swarm } from '../swarm/index.ts'
import { createHeadExchange, type Learnt } from '../trainer/heads/exchange.ts'
import { createPartners } from '../trainer/heads/partners.ts'
import { layoutOf, toVector, toWeights, type Vector } from '../trainer/heads/vector.ts'

export interface HeadsParts {
  policy: LivePolicy
  /** Undefined without a network. */
  swarm(): Pick<Swarm, 'heads' | 'peers'> | undefined
  /** Whether this node sends and takes weights at present. */
  isOn(): boolean
  /** Members of a private swarm, and peers that the user vouches for. */
  isTrusted(peer: string): boolean
  learnt(): Learnt
  /** The newest evaluation. */
  evaluation(): Evaluation | undefined
  /** Evaluates the present weights, at the same questions each time, and records it. */
  evaluate(): Promise<Evaluation>
  /** This node's accuracy by task, for peers. */
  tasks(): HeadTask[]
  phases: Pick<Phases, 'run'>
  random(): number
  now(): number
  /** Wakes the train loop when heads have arrived. */
  wake(): void
  log(message: string): void
}

export interface NodeHeads {
  /** Call between two updates, while nothing else uses the trainer. Joins what has arrived, and begins an exchange. */
  exchange(): Promise<void>
  /** The weights went back to a checkpoint. */
  reset(): void
  /** Whether the peer's weights were joined lately, so that its groups need not be trained on. */
  isJoined(peer: string): boolean
  /** Nodes whose work is in the weights, this one included. */
  readonly nodes: number
  /** Undefined while the node neither sends nor takes weights. */
  info(): HeadsInfo | undefined
}

/** Optimizer steps between two exchanges. */
const EVERY = 4
/** Peers that are asked in one exchange. */
const MOST_PEERS = 8

export function createNodeHeads(parts: HeadsParts): NodeHeads {
  const { policy, phases, isOn, now } = parts
  const layout = layoutOf(policy.spec)
  const exchange = createHeadExchange({ layout, origin: toVector(layout, policy.initial), every: EVERY })
  const partners = createPartners({ now })
  const asking = createAsking({ size: exchange.size, lineage: policy.lineage }, parts)
  let caughtUp: HeadsInfo['caughtUp']
  let exchanges = 0

  const weights = async (): Promise<Vector> => toVector(layout, await policy.trainer.weights())
  const behind = (): Learnt => {
    const { own, foreign } = parts.learnt()
    return { own, foreign: foreign + partners.list().reduce((sum, partner) => sum + partner.own, 0) }
  }

  const begin = async (): Promise<void> => {
    const { version } = policy.reference()
    const present = await weights()
    const bytes = exchange.make({ version, weights: present })
    const facts = { lineage: policy.lineage, version, ...behind(), tasks: parts.tasks() }
    parts.swarm()?.heads.offer(facts, bytes)
    if (exchange.isAsking) return
    exchanges++
    exchange.ask(present)
    void asking.all(exchange.take).finally(() => {
      exchange.complete()
      parts.wake()
    })
  }

  const join = async (): Promise<void> => {
    const joined = exchange.join(await weights())
    await policy.replace(toWeights(layout, joined.weights))
    partners.joined(joined.heads)
  }

  /** Stands where the peer stands, if this node's held-out questions say that it is better there. */
  const catchUp = async (author: string, theirs: Vector): Promise<void> => {
    const before = parts.evaluation() ?? (await parts.evaluate())
    const own = await policy.trainer.weights()
    // What the other heads were compared with is gone.
    const { heads } = exchange.join(toVector(layout, own))
    await policy.replace(toWeights(layout, theirs))
    const after = await parts.evaluate()
    const isTaken = after.accuracy > before.accuracy
    if (isTaken) partners.joined(heads)
    else await policy.replace(own)
    exchange.reset()
    caughtUp = {
      peer: author,
      peers: heads.length,
      before: before.accuracy,
      after: after.accuracy,
      isTaken,
      at: now(),
    }
    const change = `held-out ${percent(before.accuracy)} → ${percent(after.accuracy)}`
    const peers = heads.length === 1 ? '1 peer' : `${heads.length} peers`
    parts.log(
      isTaken ? `caught up with ${peers}: ${change}` : `tried a peer's weights and gave them back: ${change}`,
    )
  }

  return {
    async exchange() {
      if (!isOn()) return
      if (exchange.isReady) {
        const ahead = exchange.ahead(behind())
        await phases.run('join', {}, () => (ahead ? catchUp(ahead.author, ahead.weights) : join()))
      }
      if (exchange.isDue(policy.reference().version)) await phases.run('join', {}, begin)
    },
    reset: () => exchange.reset(),
    isJoined: (peer) => isOn() && partners.has(peer),
    get nodes() {
      return isOn() ? 1 + partners.list().length : 1
    },
    info() {
      if (!isOn()) return undefined
      const { in: bytesIn, out: bytesOut } = parts.swarm()?.heads.bytes ?? { in: 0, out: 0 }
      return {
        ...{ lineage: policy.lineage, size: exchange.size, exchanges, bytesIn, bytesOut },
        refused: asking.refused,
        peers: partners.list().map(({ author, version, own, at, isClipped }) => ({
          ...{ peer: author, version, groups: own, at, isClipped },
        })),
        ...(caughtUp && { caughtUp }),
      }
    },
  }
}

/** Asks trusted peers for their heads, and fetches those that are new. */
function createAsking(
  { size, lineage }: { size: number; lineage: string },
  { swarm, isTrusted, random }: Pick<HeadsParts, 'swarm' | 'isTrusted' | 'random'>,
) {
  /** Hash of the newest fetched head, by peer. */
  const fetched = new Map<string, string>()
  let refused = 0

  const trusted = (): string[] =>
    (swarm()?.peers() ?? [])
      .filter(({ id, connected }) => connected && isTrusted(id))
      .map(({ id }) => ({ id, order: random() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, MOST_PEERS)
      .map(({ id }) => id)

  const one = async (peer: string, take: ReturnType<typeof createHeadExchange>['take']): Promise<void> => {
    const heads = swarm()?.heads
    const head = await heads?.ask(peer, lineage)
    if (!heads || !head || fetched.get(peer) === head.hash) return
    const bytes = await heads.fetch(head, { size })
    if (!bytes) return
    fetched.delete(peer)
    fetched.set(peer, head.hash)
    if (fetched.size > 1024) fetched.delete(fetched.keys().next().value!)
    if (!take({ ...head, bytes })) refused++
  }

  return {
    get refused() {
      return refused
    },
    async all(take: ReturnType<typeof createHeadExchange>['take']): Promise<void> {
      await Promise.allSettled(trusted().map((peer) => one(peer, take)))
    },
  }
}
