// Assembles serving: dialects that let a request choose its distribution, answers that go before rollouts, and the
// server at an address of its own, if it has one.

import { basename, isAbsolute } from 'node:path'
import type { Sampler, Sampling } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import { createDialects, type Dialects } from './dialects/all.ts'
import { createChatPrompts } from './dialects/prompts.ts'
import type { Conversations } from './kept/conversations.ts'
import { keeping } from './kept/keeping.ts'
import { createModelCalls, type OtherModels } from './serving/model-calls.ts'
import type { OfferedModel } from './serving/offered-model.ts'
import { openServing, type Serving } from './serving/serving.ts'
import { type Answers, createAnswers } from './writing/answers.ts'
import { createAttempts } from './writing/attempts.ts'
import { createServed, type Served } from './writing/served.ts'

export interface ServeOptions extends OfferedModel {
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
}

export interface ServeParts {
  /** The key that opens serving, and nothing else. */
  key(): string
  tokenizer: Tokenizer
  sampler: Pick<Sampler, 'generate'>
  /** What the node keeps of served calls; undefined if it is no node. */
  conversations?: Conversations | undefined
  /** Other weights of the model, such as its base, that can be asked for by name. */
  others?: { names(): Promise<readonly string[]>; sampler(name: string): Pick<Sampler, 'generate'> }
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
  const answersBy = (sampler: ServeParts['sampler']): Answers =>
    createAnswers(
      { ...distribution, isInteractive: true, stopTokens: tokenizer.stopTokens },
      { ...parts, sampler, onSampled: () => {}, seed: () => parts.randomBytes(4).readUInt32LE() },
    )
  const answers = answersBy(parts.sampler)
  const served = createServed(options, { ...parts, answers, begin: createAttempts(limits, parts) })
  const prompts = createChatPrompts(tokenizer)
  const dialectsOf = (model: string) =>
    createDialects(
      { ...limits, ...distribution, model, isServed: true },
      { tokenizer, prompts, now: parts.now },
    )
  const others = parts.others && othersOf(options, parts.others, { answersBy, dialectsOf, served })
  const serving = await openServing(options, {
    ...{ key: parts.key, served, onBug: bugLog(parts.log) },
    ...(parts.conversations && {
      conversations: parts.conversations,
      keep: keeping(options, { conversations: parts.conversations, tokenizer }),
    }),
    modelCalls: createModelCalls(
      { ...options, requiresName: true },
      {
        ...{ after: parts.after, others },
        ...dialectsOf(options.model),
      },
    ),
    requestId: () => parts.randomBytes(12).toString('hex'),
  })
  return {
    ...serving,
    async close() {
      await Promise.all([answers.close(), others?.close()])
      await serving.close()
    },
  }
}

/** The other models, under the model's name with theirs behind it. */
function othersOf(
  { model }: ServeOptions,
  others: NonNullable<ServeParts['others']>,
  {
    answersBy,
    dialectsOf,
    served,
  }: {
    answersBy(sampler: ServeParts['sampler']): Answers
    dialectsOf(model: string): Dialects
    served: Served
  },
): OtherModels & { close(): Promise<void> } {
  const known = new Map<string, ReturnType<OtherModels['of']> & { answers: Answers }>()
  const nameOf = (other: string): string => `${model}@${other}`
  return {
    names: async () => (await others.names()).map(nameOf),
    of(name) {
      const answers = known.get(name)?.answers ?? answersBy(others.sampler(name.slice(nameOf('').length)))
      const made = known.get(name) ?? {
        ...{ ...dialectsOf(name), answers },
        call: (identity, make) => served.call(identity, make, { by: answers }),
      }
      known.set(name, made)
      return made
    },
    async close() {
      await Promise.all([...known.values()].map(({ answers }) => answers.close()))
    },
  }
}

/** Logs errors that are bugs. */
export function bugLog(log: ServeParts['log']): (error: unknown, path: string) => void {
  return (error, path) =>
    log('error', `agents: ${path}: ${error instanceof Error ? (error.stack ?? error.message) : error}`)
}
