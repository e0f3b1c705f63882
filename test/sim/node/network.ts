// A life's part in the swarm: the daemon's exchange on a simulated network, and the checks around what it admits, whom it
// charges, and which heads it offers and fetches.

import { createExchange, type Exchange } from '../../../daemon/swarm/exchange.ts'
import type { Swarm } from '../../../daemon/swarm/index.ts'
import { Notices } from '../../../daemon/swarm/notices.ts'
import { hexOf } from '../checks.ts'
import { authenticityOf } from '../identity.ts'
import { createGossip, type Net } from '../net.ts'
import { codec, even, MAX_TOKENS } from '../policy.ts'
import type { Life } from './disk.ts'
import type { Lasting } from './lasting.ts'
import type { Learning, LearningParts } from './learning.ts'
import type { Records } from './records.ts'

export interface NetworkParts extends Pick<LearningParts, 'node' | 'times' | 'storage' | 'policy' | 'tasks'> {
  records: Records
  learning: Learning
}

export interface Network {
  exchange: Exchange
  onGossip(from: string, data: Uint8Array): void
  answer: Answer
  /** For heads and audits. */
  swarm: NonNullable<ReturnType<LearningParts['swarm']>>
}

export type Answer = (
  from: string,
  protocol: string,
  question: Uint8Array,
) => ReturnType<ReturnType<Net['requests']>['answer']>

export function openNetwork(life: Life, parts: NetworkParts): Network {
  const { node, policy } = parts
  const { self, net, world, name } = node
  const { gossip, receive } = createGossip(
    { self, life },
    {
      net,
      guard: () => exchange.validator.guard,
      validate: (source, message) => exchange.validator.validate(source, message),
      onVerdict: (source, id, verdict) => world.note(`${name} ${verdict} ${id} from ${source.slice(-6)}`),
    },
  )
  let answer: Answer = () => []
  const exchange = exchangeOf(life, {
    ...parts,
    gossip,
    onAnswer(found) {
      answer = found
    },
  })
  node.planted.exchange?.(exchange)
  watchVerdicts(exchange, parts)
  return { exchange, onGossip: receive, answer, swarm: swarmOf(exchange, { life, node, policy }) }
}

function exchangeOf(
  life: Life,
  {
    node,
    times,
    storage,
    records,
    policy,
    tasks,
    learning,
    gossip,
    onAnswer,
  }: NetworkParts & {
    gossip: ReturnType<typeof createGossip>['gossip']
    onAnswer(answer: Answer): void
  },
): Exchange {
  const { self, identity, net, world, name, truth, checks, random, joined, signatures } = node
  const { heads, core, audits } = learning
  const { journal, pool, changed } = records
  const { clock, log, after } = times
  const notices = new Notices({}, { onEvent: journal.swarm })
  const exchange: Exchange = createExchange(
    { maxCompletionTokens: MAX_TOKENS, tasks: [{ name: even.name, version: even.version }] },
    {
      ...{ identity, clock, log, datastore: storage.datastore, gossip },
      tasks: { find: tasks.find },
      hasWritten: (id) => pool.hasSeen(id),
      codec,
      version: () => policy.reference().version,
      onGroup(group) {
        checks.arrived(group)
        if (core.onForeignGroup(group)) changed.wake()
      },
      isTrainedElsewhere: (group) => heads.isTrainedElsewhere(group),
      isUnknown: (author) => core.learner.isUnknown(author),
      onAccusation: audits.accused,
      onUnneeded: (peer) => notices.unneeded(peer),
      onEvent(event) {
        journal.swarm(event)
        if (event.type !== 'refused' || event.reason !== 'copy') return
        // A hostile author that has earned trust may send an unknown author's text before it does (SECURITY.md).
        const hasEarned = exchange.records
          .all()
          .some(({ id }) => !truth.honest.has(id) && exchange.isKnown(id))
        if (!hasEarned) checks.passedForCopy(event.peer)
      },
      requests(known) {
        const requests = net.requests(self, known, life)
        onAnswer(requests.answer)
        return requests
      },
      links: {
        cut: (peer) => {
          world.note(`${name} cuts ${peer.slice(-6)}`)
          net.disconnect(self, peer)
        },
        slow() {},
      },
      isWanted: (peer) => joined.has(peer),
      onClock() {},
      onImpostor: () => checks.failed('another node seems to sign with its key'),
      soon: (run) => void after(0.1, run),
      salt: random.bytes(16),
      ...authenticityOf(signatures),
    },
  )
  return exchange
}

/** The checks hear of what is admitted, and of who is charged. */
function watchVerdicts(
  { admission, reputation }: Exchange,
  { node: { checks }, times: { clock } }: Pick<NetworkParts, 'node' | 'times'>,
): void {
  const screen = admission.screen.bind(admission)
  admission.screen = (bytes, source, options = {}) => {
    const result = screen(bytes, source, options)
    if ('admitted' in result)
      checks.admitted(result.admitted.group.author, options.fetched ? 'fetched' : 'gossip', clock.now())
    return result
  }
  const offend = reputation.offend.bind(reputation)
  reputation.offend = (peer, offence, times) => {
    checks.charged(peer, offence)
    offend(peer, offence, times)
  }
}

function swarmOf(
  exchange: Exchange,
  {
    life,
    node: { self, truth, checks, isPublic },
    policy,
  }: { life: Life; node: Lasting; policy: LearningParts['policy'] },
): Network['swarm'] {
  return {
    // Everybody takes everybody's weights, hostile nodes' too.
    isPrivate: !isPublic,
    receipts: exchange.receipts,
    isKnown: (peer) => exchange.isKnown(peer),
    async accuse(accusation, proof) {
      exchange.receipts.prove(proof)
      await exchange.publisher.accuse(accusation)
    },
    peers: () => exchange.records.all() as unknown as ReturnType<Swarm['peers']>,
    heads: {
      ...exchange.heads,
      offer(head, bytes) {
        truth.heads.get(self)!.add(hexOf(bytes))
        exchange.heads.offer(head, bytes)
      },
      async fetch(head, options) {
        const bytes = await exchange.heads.fetch(head, options)
        if (bytes && life.isAlive) checks.fetched(head, policy.lineage, bytes)
        return bytes
      },
    },
  }
}
