// Puts the gateway together: book, writing, dialects and server.

import { createBook } from './book/book.ts'
import type { AgentGateway, GatewayOptions, GatewayParts } from './contract.ts'
import { createChat } from './dialects/chat.ts'
import { createCompletions } from './dialects/completions.ts'
import { createGenerate } from './dialects/generate.ts'
import { createChatPrompts } from './dialects/prompts.ts'
import { createResponses } from './dialects/responses.ts'
import { busy } from './errors.ts'
import { openServer } from './serving/server.ts'
import { createCaller } from './writing/caller.ts'
import { createCollector } from './writing/collector.ts'

/** How often deadlines are looked at. */
const TICK_MS = 1000
/** How long a client that wants to begin a group waits for room before it is told to come back. */
const PATIENCE_MS = 20_000

export async function openGateway(options: GatewayOptions, by: GatewayParts): Promise<AgentGateway> {
  const { tokenizer } = by
  const book = createBook(options, by)
  const collector = createCollector(
    { ...options, stopTokens: tokenizer.stopTokens },
    { ...by, seed: () => by.randomBytes(4).readUInt32LE() },
  )
  const caller = createCaller(options, { ...by, collector })
  const prompts = createChatPrompts(tokenizer)
  const closing = new AbortController()

  const room = async (): Promise<void> => {
    const late = new AbortController()
    const cancel = by.after(PATIENCE_MS, () => late.abort())
    const signal = AbortSignal.any([late.signal, closing.signal])
    try {
      for (;;) {
        const seen = by.changed.count
        if (by.hasRoom(book.begun)) return
        if (signal.aborted) break
        await by.changed.after(seen, signal)
      }
    } finally {
      cancel()
    }
    throw busy('enough groups wait to be trained on, or the node is paused', 5)
  }

  let cancelTick = (): void => {}
  const tick = (): void => {
    cancelTick = by.after(TICK_MS, () => {
      book
        .expire()
        .catch((error: unknown) =>
          by.log('error', `agents: ${error instanceof Error ? error.message : error}`),
        )
        .finally(() => {
          if (!closing.signal.aborted) tick()
        })
    })
  }

  const server = await openServer(options, {
    ...{ token: by.token, book, caller, isTask: by.isTask, room },
    dialects: new Map([
      ['/v1/chat/completions', createChat(options, { tokenizer, prompts })],
      ['/v1/responses', createResponses(options, { tokenizer, prompts })],
      ['/v1/completions', createCompletions(options, { tokenizer })],
      ['/inference/v1/generate', createGenerate(options, { tokenizer })],
    ]),
    onBug: (error, path) =>
      by.log('error', `agents: ${path}: ${error instanceof Error ? (error.stack ?? error.message) : error}`),
  })
  tick()
  return {
    url: server.url,
    info: () => ({ listen: server.url, ...book.info() }),
    async close() {
      closing.abort()
      cancelTick()
      await collector.close()
      await server.close()
    },
  }
}
