// The context that a plugin gets for one call of one hook. It enforces the plugin's token budget, the phase, and what
// the plugin may learn about solutions. It stops working when the call is over.

import {
  BudgetError,
  type Context,
  embedText,
  leaksAnswer,
  type TextRequest,
  type Written,
} from '../../protocol/plugin/index.ts'
import { isHeldOut, type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import { type Active, rememberTold, spend, tokensLeft, type Window } from './active.ts'
import type { World } from './contract.ts'
import { hash32, randomStream } from './random.ts'
import type { Watch } from './watch.ts'

interface CallContext {
  context: Context
  /** Milliseconds that the call has spent waiting for the node so far. */
  waited(): number
  /** Closes the context: plugin code that still runs cannot reach the node any more. */
  close(): void
}

export interface ContextBy {
  world: World | undefined
  seed: number
  now(): number
  log(level: 'info', message: string, data?: Record<string, unknown>): void
  record(name: string, value: number): void
  watch: Watch
  /** Reports that a plugin's request was refused. */
  refuse(active: Active, hook: string, message: string): void
}

export function createContext(active: Active, window: Window, parts: ContextBy): CallContext {
  const { plugin } = active
  let isOver = false
  let ending: AbortController | undefined
  const signal = (): AbortSignal => {
    ending ??= new AbortController()
    return ending.signal
  }
  const wait = createWait(active, parts)
  const world = (): World => {
    if (isOver) throw new Error('the hook is over: its context cannot be used any more')
    if (!parts.world) throw new Error('the node is not open yet')
    return parts.world
  }
  const instance = (at: PromptCoordinates) => world().instance(at)

  const { generate, score, answer } = textCalls(active, window, {
    ...parts,
    world,
    waiting: wait.during,
    signal,
  })
  const context: Context = {
    step: window.step,
    phase: window.phase,
    random: (stream) => randomStream(parts.seed, `plugin/${plugin.kind}/${plugin.name}/${stream}`),
    log: (message, data) => parts.log('info', `${plugin.name}: ${message}`, data),
    metric(name, value) {
      if (Number.isFinite(value)) parts.record(`${plugin.name}.${name}`, value)
    },
    generate,
    score,
    teachers: () => world().teachers(),
    answer,
    embed: (texts) => texts.map(embedText),
    question: (at) => instance(at).question,
    examples: (at) => instance(at).examples ?? [],
    verify(at, completion) {
      if (isHeldOut(at.seed)) throw new RangeError('plugins may not verify answers to held-out prompts')
      return world().verify(at, completion)
    },
    conditioning: (at, rewrite) => world().conditioning(at, rewrite),
    countTokens: (text) => world().encode(text).length,
    encode: (text) => world().encode(text),
    get limits() {
      return world().limits
    },
    leaks: (at, text) => leaksAnswer(instance(at).key, text),
    privileged(at) {
      if (window.phase === 'eval' || isHeldOut(at.seed) || !active.needs.has('privileged')) return null
      const { key, steps } = instance(at)
      rememberTold(active, promptKey(at))
      return { key, steps }
    },
  }
  return {
    context,
    waited: wait.total,
    close() {
      isOver = true
      ending?.abort()
    },
  }
}

/** Adds up the time in which a call waits for the node. Waits may overlap. */
function createWait(active: Active, { now, watch }: Pick<ContextBy, 'now' | 'watch'>) {
  let waits = 0
  let since = 0
  let waited = 0
  return {
    async during<T>(run: () => Promise<T>): Promise<T> {
      if (waits++ === 0) since = now()
      try {
        return await run()
      } finally {
        if (--waits === 0) waited += now() - since
        if (active.isOutside) watch.resumed(active.budget.hookMs)
      }
    },
    total: (): number => waited + (waits > 0 ? now() - since : 0),
  }
}

interface TextParts extends Pick<ContextBy, 'seed' | 'refuse'> {
  world(): World
  waiting<T>(run: () => Promise<T>): Promise<T>
  signal(): AbortSignal
}

/** What costs tokens, or asks a teacher. */
function textCalls(
  active: Active,
  window: Window,
  { world, waiting, signal, ...parts }: TextParts,
): Pick<Context, 'generate' | 'score' | 'answer'> {
  const generate = async (requests: readonly TextRequest[]): Promise<Written[][]> => {
    checkRequests(active, requests)
    const left = tokensLeft(active, window)
    if (left <= 0) throw new BudgetError(noTokens(active))
    const count = window.generated.get(active) ?? 0
    window.generated.set(active, count + 1)
    const seed = hash32(parts.seed, `plugin/${active.id}/texts/${window.of}/${window.step}/${count}`)
    const { texts, cut, unasked } = await waiting(() =>
      world().generate(requests, { tokens: left, seed, signal: signal() }),
    )
    spend(
      active,
      window,
      texts.flat().reduce((sum, { tokens }) => sum + tokens.length, 0),
    )
    if (unasked !== undefined) parts.refuse(active, 'generate', unasked)
    if (cut) throw new BudgetError(noTokens(active))
    return texts
  }

  /** Teachers use the trainer, which nothing else does between two updates. */
  const checkWindow = (): void => {
    if (window.of !== 'batch') throw new Error('teachers can only be asked while a batch is prepared')
  }
  const answer: Context['answer'] = async (questions, { teacher } = {}) => {
    checkWindow()
    const tokens = tokensLeft(active, window)
    if (tokens <= 0) throw new BudgetError(noTokens(active))
    if (questions.some(({ prompt }) => isHeldOut(prompt.seed)))
      throw new RangeError('teachers may not be asked held-out questions')
    const seed = hash32(parts.seed, `plugin/${active.id}/answers/${window.step}/${teacher ?? ''}`)
    const written = await waiting(() =>
      world().answer(questions, { teacher, tokens, seed, signal: signal() }),
    )
    spend(
      active,
      window,
      written.reduce((sum, { tokens: own }) => sum + own.length, 0),
    )
    return written
  }
  return {
    generate,
    score: (items, { teacher, hidden = false, ...wanted } = {}) =>
      waiting(async () => {
        if (teacher !== undefined) checkWindow()
        return world().score(items, { hidden, ...wanted, ...(teacher && { teacher }), signal: signal() })
      }),
    answer,
  }
}

const noTokens = ({ budget }: Active): string =>
  `it has used up its budget of ${budget.tokens} tokens; its manifest and settings set the budget`

function checkRequests({ plugin }: Active, requests: readonly TextRequest[]): void {
  const roles = new Set(['policy', ...(plugin.manifest?.roles ?? []).map(({ name }) => name)])
  for (const { role = 'policy', prompt, n } of requests) {
    if (!roles.has(role)) throw new RangeError(`its manifest has no role "${role}"`)
    if (typeof prompt !== 'string' || prompt === '') throw new TypeError('a text request has no prompt')
    if (!Number.isInteger(n) || n < 1) throw new RangeError(`a text request asks for ${n} texts`)
  }
}
