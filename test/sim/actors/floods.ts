// Hostile nodes that send much, or what no node can use.

import { createHash } from 'node:crypto'
import {
  encodeAnnouncement,
  encodeFetch,
  FETCH_PROTOCOL,
  joinHashes,
  MAX_GOSSIP_BYTES,
  MAX_ROLLOUTS,
  type SharedGroup,
  sealFrame,
} from '../../../protocol/wire/index.ts'
import { even, writeText } from '../policy.ts'
import { type Behaviour, draftOf, nowOf } from './tools.ts'

/** As in core/core.ts. */
const INTRODUCTIONS = 24
/** As in swarm/admission/admission.ts: how old, and how far ahead, a group may be. */
const [OLDEST_MS, SKEW_MS] = [1_800_000 + 3_960_000, 3_960_000]

export const FLOODS = {
  /** One author floods through several identities, none of which sends much. */
  crowd: {
    every: 200,
    act({ spread, group, me }) {
      for (let i = 0; i < 3; i++) spread(group(me))
    },
  },
  /** Sends as much as it can. */
  flooder: {
    every: 1000,
    act({ gossip, peers, group, identity, random }) {
      if (peers().length === 0) return
      const [to, author] = [random.pick(peers()), identity()]
      const frame = group(author)
      for (let i = 0; i < 300; i++) {
        const copy = Uint8Array.from(frame)
        copy[40] = i
        copy[41] = Math.floor(random.next() * 256)
        gossip(to, copy)
      }
    },
  },
  /** Introduces one author after another, each with as large a group without a signal as a message may have. */
  introducer: {
    every: 250,
    act({ spread, group, identity, random }) {
      const texts = Array.from({ length: MAX_ROLLOUTS }, () => writeText(false, random.next))
      spread(group(identity(), { rollouts: draftOf(random, texts).rollouts }))
    },
  },
  /** An honest peer whose groups have no signal yet: all that it does is to introduce itself. */
  newcomer: {
    every: 3000,
    act({ spread, group, me, random, isFirst }) {
      // As many as a node shares for others that do not know it.
      const at = Array.from({ length: INTRODUCTIONS }, (_, i) => i).find((i) => isFirst(`introduction ${i}`))
      if (at === undefined) return
      const texts = [0, 1, 2, 3].map(() => writeText(false, random.next))
      spread(group(me, { rollouts: draftOf(random, texts).rollouts }))
    },
  },
  /** Old, early, held-out and out-of-range groups. */
  laggard: {
    every: 2000,
    act(tools) {
      const { spread, group, identity, random } = tools
      const now = nowOf(tools)
      const { prompt } = draftOf(random, [])
      spread(
        group(
          identity(),
          random.pick<Partial<SharedGroup>>([
            { createdAt: now - 3 * 3_600_000 },
            { createdAt: now + 3 * 3_600_000 },
            { prompt: { ...prompt, taskVersion: 77 } },
            { arm: 'secret' },
          ]),
        ),
      )
    },
  },
  /** Bytes that mean nothing. */
  babbler: {
    every: 5000,
    act({ gossip, peers, random }) {
      if (peers().length > 0) gossip(random.pick(peers()), random.bytes(1 + Math.floor(random.next() * 400)))
    },
  },
  /** Announces bodies that never come, under throw-away names, and answers requests with something else. */
  silent: {
    every: 1000,
    act(tools) {
      const { spread, identity, random } = tools
      const author = identity()
      const { prompt } = draftOf(random, [])
      const now = nowOf(tools)
      const facts = {
        prompt,
        hash: Buffer.from(random.bytes(32)).toString('hex'),
        size: MAX_GOSSIP_BYTES + 1,
      }
      spread(encodeAnnouncement({ ...facts, createdAt: now, sequence: now }, author.signer))
    },
    answer: ({ random, heard }, question) =>
      question.length < 100
        ? [joinHashes([...Array(20)].map(() => Buffer.from(random.bytes(32)).toString('hex')))]
        : [heard.at(-1) ?? random.bytes(100)],
  },
  /** Answers a newcomer's first question with everything that it ever heard, old and doubled. */
  hoarder: {
    every: 4000,
    act({ net, self, peers, random }) {
      if (peers().length === 0) return
      const asked = net.requests(self, { sent() {}, received() {} }, { isAlive: true })
      const question = encodeFetch({ list: { sinceMs: 1_800_000, tasks: [] } })
      void (async () => {
        try {
          const request = { peer: random.pick(peers()), protocol: FETCH_PROTOCOL, question }
          for await (const _ of asked.ask(request, { maxMessage: 1 << 20 })) return
        } catch {
          // Honest nodes may refuse it, or be dead: that is what a simulation is for.
        }
      })()
    },
    answer: ({ heard }, question) =>
      question.length < 100
        ? [joinHashes(heard.map((frame) => createHash('sha256').update(frame).digest('hex')).slice(-500))]
        : [...heard.slice(-20), new Uint8Array(0)],
  },
  /**
   * Gives one node at a time what that node cannot check or takes just yet, so that it passes it on to others that refuse
   * it. Who charges the node that passed it on makes a weapon of an honest relay.
   */
  launderer: {
    every: 700,
    act(tools) {
      const { gossip, peers, group, identity, random, me } = tools
      if (peers().length === 0) return
      const now = nowOf(tools)
      const { prompt } = draftOf(random, [])
      const author = random.chance(0.5) ? me : identity()
      const change = random.pick<Partial<SharedGroup>>([
        { prompt: { ...prompt, difficulty: even.difficulty.max + 1 } },
        { prompt: { ...prompt, task: 'unheard_of' } },
        { prompt: { ...prompt, taskVersion: 77 } },
        { arm: 'secret' },
        { createdAt: now - OLDEST_MS + 20 },
        { createdAt: now + SKEW_MS - 20 },
      ])
      const frame = random.chance(0.1)
        ? sealFrame(77 as never, Uint8Array.of(0xa0), author.signer)
        : group(author, change)
      gossip(random.pick(peers()), frame)
    },
  },
} satisfies Record<string, Behaviour>
