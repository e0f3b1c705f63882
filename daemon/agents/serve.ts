// Assembles serving: dialects that let a request choose its distribution, answers that go before rollouts, and the
// server at an address of its own, if it has one.

import { basename, isAbsolute } from 'node:path'
import type { Sampler, Sampling } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import { createDialects } from './dialects/all.ts'
import { createChatPrompts } from './dialects/prompts.ts'
import { createModelCalls } from './serving/model-calls.ts'
import { openServing, type Serving } from './serving/serving.ts'
import { createAnswers } from './writing/answers.ts'
import { createAttempts } from './writing/attempts.ts'
import { createServed } from './writing/served.ts'

export interface ServeOptions {
  /** host:port; undefined if only the agents' gateway answers calls without a rollout. */
  listen: string | undefined
  /** Allow an address that other machines can reach, without encryption. */
  isPublic: boolean
  /** Web pages of these origins may use it. */
  origins: readonly string[]
  /** Most calls answered side by side, and most that wait. */
  maxRunning: number
  maxWaiting: number
  /** The distribution unless a request chooses another; undefined if the sampler knows only the policy's own. */
  sampling: Sampling | undefined
  /** The sampler can keep an answer to a grammar. */
  enforces: boolean
  /** Most tokens of prompt and answer together. */
  context: number
  /** The most that the model could read. */
  modelContext: number
  vocabulary: number
  /** The name by which clients ask for the model. */
  model: string
  parameters: number
  /** Of the model's weights. */
  digest: string
}

export interface ServeParts {
  /** The key that opens serving, and nothing else. */
  key(): string
  tokenizer: Tokenizer
  sampler: Pick<Sampler, 'generate'>
  log(level: 'error', message: string): void
  /** ms since the epoch. */
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

/** The name of a model for clients. A path would tell them where this machine keeps its files. */
export function nameForClients(name: string): string {
  return isAbsolute(name) ? basename(name).replace(/\.gguf$/i, '') : name
}

export async function openServe(options: ServeOptions, parts: ServeParts): Promise<Serving> {
  const { tokenizer } = parts
  // As long as the conversation may be, unless a request says otherwise.
  const limits = { ...options, maxNewTokens: options.context }
  const distribution = { temperature: 1, strict: false }
  const answers = createAnswers(
    { ...distribution, isInteractive: true, stopTokens: tokenizer.stopTokens },
    { ...parts, onSampled: () => {}, seed: () => parts.randomBytes(4).readUInt32LE() },
  )
  const served = createServed(options, { ...parts, answers, begin: createAttempts(limits, parts) })
  const prompts = createChatPrompts(tokenizer)
  const serving = await openServing(options, {
    ...{ key: parts.key, served, onBug: bugLog(parts.log) },
    modelCalls: createModelCalls(
      { ...options, requiresName: true },
      {
        after: parts.after,
        ...createDialects({ ...limits, ...distribution }, { tokenizer, prompts }),
      },
    ),
    requestId: () => parts.randomBytes(12).toString('hex'),
  })
  return {
    ...serving,
    async close() {
      await answers.close()
      await serving.close()
    },
  }
}

/** Logs errors that are bugs. */
export function bugLog(log: ServeParts['log']): (error: unknown, path: string) => void {
  return (error, path) =>
    log('error', `agents: ${path}: ${error instanceof Error ? (error.stack ?? error.message) : error}`)
}
