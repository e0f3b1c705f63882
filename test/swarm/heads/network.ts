// One node's exchange of heads over a network that the test answers for, message by message.

import { createHash } from 'node:crypto'
import { createHeads, type OwnHead } from '../../../daemon/swarm/heads/heads.ts'
import { createTransferLimits } from '../../../daemon/swarm/heads/transfer-limits.ts'
import type { Answer, Requests } from '../../../daemon/swarm/libp2p/streams.ts'
import { decodeHead, type Head, openFrame } from '../../../protocol/wire/index.ts'
import { freshIdentity } from '../groups.ts'

export const LINEAGE = 'ab'.repeat(32)
export const FACTS: OwnHead = { lineage: LINEAGE, version: 8, own: 3, foreign: 0, tasks: [] }

/** Bytes that differ from chunk to chunk. */
export function bytesOf(size: number, salt = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  for (let i = 0; i < size; i++) bytes[i] = i * 31 + (i >> 12) * salt + salt
  return bytes
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A clock on which waiting is something that a test does. */
export function virtualClock(now = 1_800_000_000_000) {
  let waiting: { at: number; run(): void }[] = []
  const clock = {
    time: now,
    now: () => clock.time,
    after(ms: number, run: () => void) {
      const one = { at: clock.time + ms, run }
      waiting.push(one)
      return () => {
        waiting = waiting.filter((other) => other !== one)
      }
    },
    get waiting() {
      return waiting.length
    },
    /** Runs what is due within `ms`, in order, and lets promises settle in between. */
    async pass(ms: number) {
      const end = clock.time + ms
      for (;;) {
        await settle()
        const [next] = waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
        if (!next) break
        waiting = waiting.filter((one) => one !== next)
        clock.time = next.at
        next.run()
      }
      clock.time = end
    },
  }
  return clock
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

export interface OneOptions {
  /** Answers of peers to what this node asks. */
  answers?: Requests['ask']
  mostPerHour?: () => number
  isNear?: (peer: string) => boolean
  /** Default: everybody. */
  isTrusted?: (peer: string) => boolean
}

/** A node, and a way to ask it. */
export async function startOne({
  answers = async function* () {},
  mostPerHour,
  isNear = () => false,
  isTrusted = () => true,
}: OneOptions = {}) {
  const clock = virtualClock()
  const identity = freshIdentity()
  const state = {
    lies: [] as string[],
    muted: new Set<string>(),
    gone: new Set<string>(),
    isBehind: false,
    asked: 0,
  }
  let serve: Answer = () => []
  const requests: Requests = {
    isConnected: (peer) => !state.gone.has(peer),
    async *ask(request, options) {
      state.asked++
      yield* answers(request, options)
    },
    async serve(_options, answer) {
      serve = answer
    },
  }
  const heads = createHeads({
    ...{ requests, identity, clock, log: () => {} },
    isBehind: () => state.isBehind,
    isMuted: (peer) => state.muted.has(peer),
    limits: createTransferLimits({ mostPerHour }, { clock, isNear, isTrusted }),
    onLie: (peer) => state.lies.push(peer),
  })
  await heads.start()
  /** The whole answer to a peer's question. */
  const answer = async (question: Uint8Array, peer = 'peer'): Promise<Uint8Array[]> => {
    const messages: Uint8Array[] = []
    for await (const message of serve(question, peer)) messages.push(message)
    return messages
  }
  return {
    heads,
    clock,
    state,
    answer,
    serve: (...args: Parameters<Answer>) => serve(...args),
    id: identity.peerId,
  }
}

export const readFrame = (frame: Uint8Array): Head => decodeHead(openFrame(frame, 16_384))

/** A head as a peer tells of it, and its bytes. */
export function headOf(size: number, { author = 'peer', salt = 1 } = {}): { head: Head; bytes: Uint8Array } {
  const bytes = bytesOf(size, salt)
  return { bytes, head: { ...FACTS, hash: sha256(bytes), size, author, createdAt: 0 } }
}
