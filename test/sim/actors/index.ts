// Starts a hostile node of a simulation, of one of the kinds in the files beside this one.

import {
  decodeHeadRequest,
  encodeGroup,
  FETCH_PROTOCOL,
  HEAD_PROTOCOL,
} from '../../../protocol/wire/index.ts'
import {
  authenticityOf,
  type SimulatedIdentity as Identity,
  identityFrom,
  type Signatures,
} from '../identity.ts'
import type { Endpoint, Net } from '../net.ts'
import { EPOCH, type World } from '../world.ts'
import { COPIES } from './copies.ts'
import { FLOODS } from './floods.ts'
import { FORGERS } from './forgers.ts'
import { HEADS } from './heads.ts'
import { LIARS } from './liars.ts'
import { type Behaviour, draftOf, mixedTexts, type Tools } from './tools.ts'

export { draftOf } from './tools.ts'

/** Those whom no honest node may believe. Forgers are believed for a while: see forged.ts. */
const DISTRUSTED = { ...LIARS, ...COPIES, ...FLOODS, ...HEADS }
/** A forger with the name of one of them would take its place. */
type Others = Record<string, Behaviour> & { [Kind in keyof typeof DISTRUSTED]?: never }
const ACTORS = { ...DISTRUSTED, ...(FORGERS satisfies Others) }

export type ActorKind = keyof typeof ACTORS
export const ACTOR_KINDS = Object.keys(DISTRUSTED) as (keyof typeof DISTRUSTED)[]

export interface Actor {
  id: string
  kind: ActorKind
}

const HEARD = 400

/** `author`: several actors may share one, as its accomplices. */
export function startActor(
  {
    kind,
    name,
    author,
    signatures,
  }: { kind: ActorKind; name: string; author?: Identity; signatures: Signatures },
  { world, net, spy }: { world: World; net: Net; spy: Tools['spy'] },
): Actor {
  const random = world.random(`actor ${name}`)
  const own = identityFrom(random, signatures)
  const self = own.peerId
  const heard: Uint8Array[] = []
  const asked = new Set<string>()
  let sequence = 0
  const tools: Tools = {
    ...{ world, net, random, self, heard, spy, me: author ?? own },
    isFirst: (key) => asked.size < asked.add(key).size,
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
      behaviour.hears?.(tools, data)
    },
    onQuestion(_, protocol, question) {
      if (protocol === FETCH_PROTOCOL) return behaviour.answer?.(tools, question) ?? []
      if (protocol === HEAD_PROTOCOL) return behaviour.head?.(tools, decodeHeadRequest(question)) ?? []
      return []
    },
    onConnected: (peer) => behaviour.meets?.(tools, peer),
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
