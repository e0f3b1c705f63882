// Hostile nodes of a simulation. Each kind speaks the protocol by itself and keeps to none of it. They hear all gossip,
// know every rule of the code, and have as many identities as they like.

import { createHash } from 'node:crypto'
import {
  decodeGroup,
  encodeAnnouncement,
  encodeFetch,
  encodeGroup,
  FETCH_PROTOCOL,
  type GroupDraft,
  joinHashes,
  KIND,
  MAX_GOSSIP_BYTES,
  openFrame,
  type SharedGroup,
} from '../../protocol/wire/index.ts'
import {
  authenticityOf,
  type SimulatedIdentity as Identity,
  identityFrom,
  type Signatures,
} from './identity.ts'
import type { Endpoint, Net } from './net.ts'
import { codec, even, model, writeText } from './policy.ts'
import { EPOCH, type Random, type World } from './world.ts'

export interface Actor {
  id: string
  kind: ActorKind
}

interface Tools {
  world: World
  random: Random
  self: string
  peers(): string[]
  gossip(to: string, data: Uint8Array): void
  /** To all peers. */
  spread(data: Uint8Array): void
  /** A new group with both right and wrong answers. */
  group(author: Identity, change?: Partial<SharedGroup>): Uint8Array
  identity(): Identity
  /** What was heard, newest last. */
  heard: readonly Uint8Array[]
  net: Net
}

interface Behaviour {
  /** ms between two acts. */
  every: number
  act(tools: Tools): void
  /** Answers to requests; by default none. */
  answer?(tools: Tools, question: Uint8Array): Uint8Array[]
}

export function draftOf(random: Random, texts: readonly string[]): GroupDraft {
  return {
    prompt: {
      ...{ task: even.name, taskVersion: even.version, difficulty: even.difficulty.default },
      seed: Math.floor(random.next() * 2 ** 31),
    },
    arm: 'base',
    policy: { lineage: model.digest, tokenizer: codec.tokenizer, version: 1 },
    rollouts: texts.map((text) => {
      const tokens = codec.encodeCompletion(text, 'stop')
      return {
        ...{ text, tokens, finish: 'stop' as const },
        behaviourLogprobs: new Float32Array(tokens.length).fill(-4.5).fill(0, -1),
        segments: [{ version: 1, start: 0, length: tokens.length }],
      }
    }),
  }
}

const mixedTexts = (random: Random): string[] => [0, 1, 2, 3].map((i) => writeText(i % 2 === 0, random.next))

/** By kind of attack; see shared goals G01 to G40 for most of them. */
export const ACTORS = {
  /** Writes what nobody sampled, under many identities, each of which is thrown away. */
  poisoner: {
    every: 2000,
    act({ spread, group, identity, random }) {
      const texts = mixedTexts(random).map((text) => `${text[0]}GLEEB GLORP GLUB${text.slice(16)}`)
      spread(group(identity(), draftOf(random, texts) as Partial<SharedGroup>))
    },
  },
  /** Claims log-probs that no policy gave, which make its tokens weigh much or little. */
  liar: {
    every: 1500,
    act({ spread, group, random, self }) {
      const draft = draftOf(random, mixedTexts(random))
      const lie = random.pick([-60, -1e-6, -20])
      for (const rollout of draft.rollouts)
        rollout.behaviourLogprobs = rollout.behaviourLogprobs!.map(() => lie)
      spread(group(identities.get(self)!, draft as Partial<SharedGroup>))
    },
  },
  /** Sends again what it heard, much later too. */
  replayer: {
    every: 400,
    act({ spread, heard, random }) {
      if (heard.length > 0) spread(random.pick(heard))
    },
  },
  /** Sends others' texts under its own name, at once. */
  copier: {
    every: 700,
    act({ spread, heard, group, self }) {
      const theirs = groupIn(heard.at(-1))
      if (theirs)
        spread(
          group(identities.get(self)!, {
            prompt: theirs.prompt,
            rollouts: theirs.rollouts,
            policy: theirs.policy,
          }),
        )
    },
  },
  /** Changes others' frames, which then do not fit their signature. */
  forger: {
    every: 3000,
    act({ gossip, peers, heard, random }) {
      const frame = heard.at(-1)
      if (!frame || peers().length === 0) return
      const changed = Uint8Array.from(frame)
      changed[Math.floor(random.next() * changed.length)]! ^= 1 + Math.floor(random.next() * 255)
      gossip(random.pick(peers()), changed)
    },
  },
  /** One author floods through several identities, none of which sends much. */
  crowd: {
    every: 150,
    act({ spread, group, self }) {
      for (let i = 0; i < 6; i++) spread(group(identities.get(self)!))
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
  /** Old, early, held-out and out-of-range groups. */
  stale: {
    every: 2000,
    act({ spread, group, identity, random, world }) {
      const now = Math.floor(EPOCH + world.time)
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
    act({ spread, identity, random, world }) {
      const author = identity()
      const { prompt } = draftOf(random, [])
      const now = Math.floor(EPOCH + world.time)
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
} satisfies Record<string, Behaviour>

export type ActorKind = keyof typeof ACTORS
export const ACTOR_KINDS = Object.keys(ACTORS) as ActorKind[]

const identities = new Map<string, Identity>()
const HEARD = 400

function groupIn(frame: Uint8Array | undefined): SharedGroup | undefined {
  try {
    const opened = openFrame(frame!, MAX_GOSSIP_BYTES)
    return opened.kind === KIND.group ? decodeGroup(opened) : undefined
  } catch {
    return undefined
  }
}

/** `identity`: several actors may share one, as its accomplices. */
export function startActor(
  {
    kind,
    name,
    author,
    signatures,
  }: { kind: ActorKind; name: string; author?: Identity; signatures: Signatures },
  { world, net }: { world: World; net: Net },
): Actor {
  const random = world.random(`actor ${name}`)
  const me = identityFrom(random, signatures)
  const self = me.peerId
  identities.set(self, author ?? me)
  const heard: Uint8Array[] = []
  let sequence = 0
  const tools: Tools = {
    ...{ world, net, random, self, heard },
    peers: () => [...net.neighbours(self)],
    gossip: (to, data) => net.gossip(self, to, data),
    spread(data) {
      for (const peer of net.neighbours(self)) net.gossip(self, peer, data)
    },
    identity: () => identityFrom(random, signatures),
    group: (by, change = {}) =>
      encodeGroup(
        {
          ...draftOf(random, mixedTexts(random)),
          createdAt: Math.floor(EPOCH + world.time),
          sequence: ++sequence,
          ...change,
        },
        by.signer,
        authenticityOf(signatures),
      ),
  }
  const behaviour: Behaviour = ACTORS[kind]
  const endpoint: Endpoint = {
    onGossip(_, data) {
      heard.push(data)
      if (heard.length > HEARD) heard.shift()
    },
    onQuestion: (_, protocol, question) =>
      protocol === FETCH_PROTOCOL ? (behaviour.answer?.(tools, question) ?? []) : [],
    onConnected() {},
    onDisconnected() {},
  }
  net.add(self, endpoint)
  const loop = (): void => {
    world.after(behaviour.every * random.between(0.5, 1.5), () => {
      behaviour.act(tools)
      loop()
    })
  }
  loop()
  return { id: self, kind }
}
