// A back end over HTTP. It sends one request per sequence, as many at a time as the server is to decode side by side.

import { WaggleError } from '../../../protocol/errors.ts'
import type { BackEnd, Line, WriteOptions } from '../back-end.ts'
import type { Dialect } from './dialect.ts'
import type { Server } from './server.ts'
import { createTurns } from './turns.ts'

interface HttpOptions {
  dialect: Dialect
  url: string
  /** Most requests at a time. */
  parallel: number
}

export function createHttpBackEnd(
  { dialect, url, parallel }: HttpOptions,
  { server }: { server: Server },
): BackEnd {
  const turns = createTurns(parallel)

  const writeOne = async (
    line: Line,
    name: string,
    options: WriteOptions,
    ending: AbortSignal,
  ): Promise<void> => {
    const signal = AbortSignal.any([line.signal, ending])
    if (signal.aborted) return
    const body = dialect.body({
      ...options,
      prompt: [...line.prompt],
      seed: line.seed,
      maxNewTokens: line.maxNewTokens,
      adapter: name,
    })
    const answer = await server.call({ path: dialect.path, body, signal }).catch((error: unknown) => {
      if (signal.aborted) return undefined
      throw error
    })
    if (answer === undefined || line.signal.aborted) return
    const { tokens, logprobs, finish } = dialect.read(answer)
    if (finish === 'gaps') return
    if (tokens.length !== logprobs.length) {
      throw new WaggleError(
        'E_SAMPLER',
        `the external sampler gave ${tokens.length} tokens and ${logprobs.length} log-probs`,
        { hint: `Is sampler.kind = "${dialect.kind}" the right kind of server, and is it recent?` },
      )
    }
    for (const [i, token] of tokens.entries()) if (line.take(token, logprobs[i]!)) return
    line.end(finish)
  }

  return {
    info: { kind: dialect.kind, device: url, reason: 'sampler.kind names it', threads: 0 },
    format: dialect.format,
    ...(dialect.isExclusive ? { isExclusive: true } : {}),
    open: () => dialect.open(server),
    encode: async (text) => await dialect.encode?.(server, text),
    async load(adapter) {
      await dialect.load(server, adapter)
      return {
        async write(lines, options) {
          // If one sequence fails, end the others: they depend on the same server.
          const ending = new AbortController()
          const inTurn = turns()
          const all = lines.map((line) =>
            inTurn(() => writeOne(line, adapter.name, options, ending.signal)).catch((error: unknown) => {
              ending.abort()
              throw error
            }),
          )
          const failed = (await Promise.allSettled(all)).find(({ status }) => status === 'rejected')
          if (failed) throw (failed as PromiseRejectedResult).reason
        },
        release: () => dialect.unload(server, adapter.name),
      }
    },
    async close() {},
  }
}
