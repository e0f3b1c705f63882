// Gathers the calls of all open conversations into calls of the sampler, so that they are written side by side. A
// conversation that comes while the sampler runs joins the next call.

import { createControl } from '../../engine/control.ts'
import type { Sample, Sampler } from '../../engine/engine.ts'
import { AgentError } from '../errors.ts'

export interface WriteRequest {
  prompt: Int32Array
  maxNewTokens: number
  /** Called with each token; true ends the answer after it. */
  onToken(token: number): boolean
}

export interface Collector {
  write(request: WriteRequest): Promise<Sample>
  /** Answers being written or waiting. */
  readonly size: number
  close(): Promise<void>
}

export interface CollectorOptions {
  temperature: number
  maxNewTokens: number
  stopTokens: readonly number[]
}

export interface CollectorParts {
  sampler: Pick<Sampler, 'generate'>
  /** Seeds of the answers; unsigned 32-bit. */
  seed(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  onSampled(call: { seconds: number; tokens: number }): void
}

interface Waiting extends WriteRequest {
  resolve(sample: Sample): void
  reject(error: unknown): void
}

/**
 * Conversations whose answers end with a call come back a moment later. The next call waits for them, for a share of the
 * time that the last one took: a call of twice the size takes less than twice as long.
 */
const GATHER = { share: 0.1, least: 4, most: 200 }

export function createCollector(options: CollectorOptions, by: CollectorParts): Collector {
  let waiting: Waiting[] = []
  let running: Promise<void> | undefined
  let inCall = 0
  let onCall = (): void => {}
  const closing = new AbortController()

  /** Waits for as many calls as there were conversations lately, but not for long. */
  const gather = async (expected: number, lastMs: number): Promise<void> => {
    if (waiting.length >= expected || closing.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = () => resolve()
    closing.signal.addEventListener('abort', stop)
    onCall = () => {
      if (waiting.length >= expected) resolve()
    }
    const { share, least, most } = GATHER
    const cancel = by.after(Math.min(most, Math.max(least, share * lastMs)), resolve)
    await promise
    cancel()
    closing.signal.removeEventListener('abort', stop)
    onCall = () => {}
  }

  const run = async (): Promise<void> => {
    let [expected, lastMs] = [Number.POSITIVE_INFINITY, 0]
    do {
      await gather(expected, lastMs)
      const batch = waiting
      waiting = []
      if (batch.length === 0) break
      inCall = batch.length
      const started = by.monotonic()
      await generate(batch).catch((error) => {
        for (const { reject } of batch) reject(error)
      })
      inCall = 0
      lastMs = by.monotonic() - started
      expected = batch.length + waiting.length
    } while (!closing.signal.aborted)
    for (const { reject } of waiting.splice(0)) reject(stopping())
    running = undefined
  }

  const generate = async (batch: readonly Waiting[]): Promise<void> => {
    const control = createControl()
    const stopped = batch.map(() => Number.POSITIVE_INFINITY)
    const drawn = batch.map(() => 0)
    const started = by.monotonic()
    const finish = (i: number, sample: Sample): void => batch[i]!.resolve(upTo(sample, stopped[i]!))
    const samples = await by.sampler.generate(
      {
        samples: batch.map(({ prompt, maxNewTokens }) => ({ prompt, maxNewTokens, seed: by.seed() })),
        temperature: options.temperature,
        maxNewTokens: options.maxNewTokens,
        stopTokens: options.stopTokens,
      },
      {
        control,
        signal: closing.signal,
        onToken({ sample: i, token }) {
          // The sampler may be some tokens ahead of the cut.
          if (drawn[i]! >= stopped[i]!) return
          drawn[i]! += 1
          if (!batch[i]!.onToken(token)) return
          stopped[i] = drawn[i]!
          control.cut([i])
        },
        onFinish: finish,
      },
    )
    samples.forEach((sample, i) => {
      finish(i, sample)
    })
    by.onSampled({
      seconds: (by.monotonic() - started) / 1000,
      tokens: samples.reduce((sum, { tokens }) => sum + tokens.length, 0),
    })
  }

  return {
    get size() {
      return waiting.length + inCall
    },
    write: (request) =>
      new Promise((resolve, reject) => {
        if (closing.signal.aborted) return reject(stopping())
        waiting.push({ ...request, resolve, reject })
        onCall()
        running ??= run()
      }),
    async close() {
      closing.abort()
      await running
    },
  }
}

function stopping(): AgentError {
  return new AgentError(503, 'stopping', 'the node is stopping', { retryAfter: 5 })
}

/** The first `length` tokens of a sample, as if it had stopped after them. */
function upTo(sample: Sample, length: number): Sample {
  if (length > sample.tokens.length) return sample
  const { tokens, logprobs, policyLogprobs, entropies, version, segments } = sample
  const kept = segments
    ?.filter(({ start }) => start < length)
    .map((one) => ({ ...one, length: Math.min(one.length, length - one.start) }))
  return {
    tokens: tokens.slice(0, length),
    logprobs: logprobs.slice(0, length),
    policyLogprobs: policyLogprobs.slice(0, length),
    entropies: entropies.slice(0, length),
    finish: 'stop',
    version,
    ...(kept && kept.length > 1 ? { segments: kept } : {}),
  }
}
