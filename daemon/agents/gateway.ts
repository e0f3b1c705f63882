// Assembles the gateway: book, writing, dialects, server, and the players of served environments.

import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { createBook } from './book/book.ts'
import type { AgentGateway, GatewayOptions, GatewayParts } from './contract.ts'
import { createDialects } from './dialects/all.ts'
import { createChatPrompts } from './dialects/prompts.ts'
import { createPlayer, type Player } from './environments/player.ts'
import { busy } from './errors.ts'
import { bugLog } from './serve.ts'
import { createModelCalls } from './serving/model-calls.ts'
import { openServer } from './serving/server.ts'
import { createAnswers } from './writing/answers.ts'
import { createAttempts } from './writing/attempts.ts'
import { createCaller } from './writing/caller.ts'

/** How often deadlines are checked. */
const TICK_MS = 1000
/** How long a client that wants to begin a group waits for room before it is told to come back later. */
const PATIENCE_MS = 20_000

export async function openGateway(options: GatewayOptions, parts: GatewayParts): Promise<AgentGateway> {
  const { tokenizer } = parts
  const book = createBook(options, parts)
  const answers = createAnswers(
    { ...options, stopTokens: tokenizer.stopTokens },
    { ...parts, seed: () => parts.randomBytes(4).readUInt32LE() },
  )
  const begin = createAttempts(options, parts)
  const caller = createCaller({ ...{ answers, begin, now: parts.now }, onAbandoned: book.undelivered })
  const prompts = createChatPrompts(tokenizer)
  const closing = new AbortController()

  let waiting = 0
  /** Waits for room for another group. False if `signal` is aborted first. */
  const hasRoom = async (signal: AbortSignal): Promise<boolean> => {
    waiting += 1
    try {
      for (;;) {
        const seen = parts.changed.count
        if (parts.hasRoom(book.active)) return true
        if (signal.aborted) return false
        await parts.changed.after(seen, signal)
      }
    } finally {
      waiting -= 1
    }
  }

  const room = async (): Promise<void> => {
    const late = new AbortController()
    const cancel = parts.after(PATIENCE_MS, () => late.abort())
    try {
      if (await hasRoom(AbortSignal.any([late.signal, closing.signal]))) return
    } finally {
      cancel()
    }
    throw busy('enough groups wait to be trained on, or the node is paused', 5)
  }

  let cancelTick = (): void => {}
  const tick = (): void => {
    cancelTick = parts.after(TICK_MS, () => {
      book
        .expire()
        .catch((error: unknown) =>
          parts.log('error', `agents: ${error instanceof Error ? error.message : error}`),
        )
        .finally(() => {
          // Time alone may have made room, because idle groups stop counting.
          if (waiting > 0) parts.changed.wake()
          if (!closing.signal.aborted) tick()
        })
    })
  }

  const { listen } = options
  const server =
    listen === undefined
      ? undefined
      : await openServer(
          { ...options, listen },
          {
            ...{ token: parts.token(), book, caller, isTask: parts.isTask, room, serving: parts.serving },
            modelCalls: createModelCalls(options, {
              after: parts.after,
              ...createDialects(options, { tokenizer, prompts, now: parts.now, onUnkept: book.unkept }),
            }),
            onBug: bugLog(parts.log),
            requestId: () => parts.randomBytes(12).toString('hex'),
          },
        )
  let asked = 0
  const players = parts.environments.map((environment) => ({
    name: environment.name,
    player: createPlayer(environment, options, {
      ...{ book, after: parts.after, log: parts.log },
      answer: (rollout, conversation) => {
        const identity = { digest: `${asked++}`, isRetry: false }
        const { delivery, done } = caller.call(rollout, identity, () => ({
          ...prompts.of(conversation, rollout),
          stop: [],
        }))
        delivery.wait().got()
        return done
      },
      async room(signal) {
        await hasRoom(signal)
      },
      seed: () => parts.randomBytes(4).readUInt32LE() % HELD_OUT_SEED,
    }),
  }))
  tick()
  return {
    url: server?.url,
    info: () => ({
      ...(server ? { listen: server.url } : {}),
      ...{ maxTokens: options.context, modelContext: options.modelContext },
      ...(players.length > 0 ? { environments: players.map(troubleOf) } : {}),
      ...book.info(),
    }),
    async close() {
      closing.abort()
      cancelTick()
      await Promise.all([answers.close(), ...players.map(({ player }) => player.close())])
      await server?.close()
    },
  }
}

function troubleOf({ name, player: { trouble } }: { name: string; player: Player }): {
  name: string
  trouble?: string
} {
  return { name, ...(trouble === undefined ? {} : { trouble }) }
}
