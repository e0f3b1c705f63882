// The warm start: supervised steps on worked answers, before a new run's first rollout. A model that is never right has
// nothing to learn from by reinforcement; a few examples show it the form of an answer.
//
// The examples are questions that are never evaluated: of built-in tasks those of the warm start's part, which rollouts
// do not ask either, of a dataset training rows.

import type { At } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { expression, type Task } from '../../protocol/plugin/index.ts'
import type { Example, Instance } from '../../protocol/train/index.ts'
import type { OptimizerOptions, Trainer } from '../engine/trainer.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'

export interface WorkedExample {
  question: string
  /** Shown before the question, as in rollouts. */
  examples: readonly Example[]
  /** Ways to answer, the most explicit first. */
  answers: readonly string[]
}

/** Seeds tried for each example. */
const TRIES = 16
/** Sequences of a step. */
const BATCH = 8
/** The learning rate rises over these steps, and then falls linearly to a tenth. */
const RISE = 5

/**
 * Up to `each` different questions of every task, with their answers. Tasks with turns have none, nor do tasks and rows
 * that know no answer.
 */
export function workedExamples(
  tasks: ReadonlyArray<{ task: Task; difficulty: number }>,
  each: number,
): WorkedExample[] {
  return tasks.flatMap(({ task, difficulty }) => {
    if (task.environment) return []
    const found = new Map<string, WorkedExample>()
    for (let seed = 0; seed < TRIES * each && found.size < each; seed++) {
      const instance = task.generate({ seed, difficulty, warmStart: true })
      const { question, examples = [] } = instance
      if (instance.steps.length > 0) found.set(question, { question, examples, answers: answersOf(instance) })
    }
    return [...found.values()]
  })
}

/** With its working, if there is some, and the bare answer. */
function answersOf({ steps, key }: Instance): string[] {
  const answer = `<answer>${key}</answer>`
  const working = steps.filter(({ level, aside, text }) => level > 1 && !aside && text !== key)
  return working.length > 0 ? [[...working.map(({ text }) => text), answer].join('\n'), answer] : [answer]
}

export interface WarmStartOptions {
  examples: readonly WorkedExample[]
  steps: number
  optimizer: OptimizerOptions
  /** Tokens. An example whose working is longer is shown with its bare answer. */
  maxCompletionTokens: number
  /** Ends it before the next step. */
  signal?: AbortSignal | undefined
}

export interface WarmStartLimits {
  /** Whether the next step has to wait. `changed` wakes when this ends. */
  mustWait(): boolean
  changed: { readonly count: number; after(count: number, signal: AbortSignal): Promise<void> }
}

/**
 * Makes the steps on the trainer's weights. Every example is used as often as any other, or once more. Returns the mean
 * negative log-likelihood, nats per token, of the first and the last step. Throws the signal's reason if it is aborted.
 */
export async function warmStart(
  {
    examples,
    steps,
    optimizer,
    maxCompletionTokens,
    signal = new AbortController().signal,
  }: WarmStartOptions,
  {
    trainer,
    tokenizer,
    random,
    limits,
    at = () => {},
  }: {
    trainer: Pick<Trainer, 'train'>
    tokenizer: Pick<Tokenizer, 'encodePrompt' | 'encodeCompletion'>
    random(): number
    limits?: WarmStartLimits
    at?: At
  },
): Promise<{ first: number; last: number }> {
  const rows = examples.map(({ question, examples: shown, answers }) => {
    const ways = answers.map((answer) => tokenizer.encodeCompletion(answer, 'stop'))
    return {
      conditioning: tokenizer.encodePrompt(question, shown),
      completion: ways.find(({ length }) => length <= maxCompletionTokens) ?? ways.at(-1)!,
      columns: {},
    }
  })
  const losses: number[] = []
  let order: typeof rows = []
  for (let step = 1; step <= steps; step++) {
    if (limits) await untilFree(limits, signal)
    signal.throwIfAborted()
    while (order.length < Math.min(BATCH, rows.length)) order = [...order, ...shuffled(rows, random)]
    const sequences = order.slice(0, BATCH)
    order = order.slice(BATCH)
    const rate = Math.min(1, step / RISE) * (1 - (0.9 * (step - 1)) / steps)
    const { applied, loss, nonFinite } = await trainer.train({
      sequences,
      objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
      temperature: 1,
      denominator: sequences.reduce((total, { completion }) => total + completion.length, 0),
      optimizer: { ...optimizer, learningRate: optimizer.learningRate * rate },
    })
    if (!applied)
      throw new WaggleError(
        'E_ENGINE',
        `the warm start stopped at step ${step}: ${nonFinite} is not finite`,
        {
          hint: 'Lower warm_start.learning_rate.',
        },
      )
    losses.push(loss)
    at(step, steps)
  }
  return { first: losses[0]!, last: losses.at(-1)! }
}

/** Resolves once steps may be made, or when the signal aborts. */
async function untilFree({ mustWait, changed }: WarmStartLimits, signal: AbortSignal): Promise<void> {
  let seen = changed.count
  while (mustWait() && !signal.aborted) {
    await changed.after(seen, signal)
    seen = changed.count
  }
}

function shuffled<Row>(rows: readonly Row[], random: () => number): Row[] {
  const all = [...rows]
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[all[i], all[j]] = [all[j]!, all[i]!]
  }
  return all
}
