// A context on a scripted policy: everything that a plugin may use, without a model. Tokens are characters. The
// test supplies functions for what the policy writes and how likely it finds a text; everything else is real.

import type { Instance, PromptCoordinates } from '../../train/index.ts'
import { isHeldOut } from '../../train/index.ts'
import { BudgetError, type Context, type Scored, type TextRequest, type Written } from '../context.ts'
import { embedText } from '../embedding.ts'
import { leaksAnswer } from '../leaks.ts'
import type { Task } from '../task.ts'
import type { TeacherInfo } from '../teacher.ts'

export interface ScriptedOptions {
  step?: number
  phase?: 'train' | 'eval'
  seed?: number
  tasks?: readonly Task[]
  /** Whether the plugin's manifest needs reference solutions. */
  privileged?: boolean
  /** Token budget of `generate`. */
  tokens?: number
  limits?: Context['limits']
  /** Teachers that can be asked. What they write and say is up to `write` and `logprobs`, as the role of their name. */
  teachers?: readonly TeacherInfo[]
  /** What the policy, or a role, writes; `index` counts the texts of one request. */
  write?(prompt: string, at: { role: string; index: number }): string
  /** Log-probs of a text's characters after a conditioning; default -1 each. */
  logprobs?(at: { role: string; conditioning: string; completion: string }): readonly number[]
  /** Collision probability per character; the default treats all other characters as unlikely. */
  collisions?(at: { role: string; conditioning: string; completion: string }): readonly number[]
  /**
   * Hidden states per character, of equal length. Default: a one-hot of the previous character code modulo 8.
   */
  hidden?(at: { role: string; conditioning: string; completion: string }): ReadonlyArray<readonly number[]>
}

export interface ScriptedContext extends Context {
  readonly metrics: Record<string, number>
  /** The text requests made to the policy, in order. */
  readonly asked: TextRequest[]
  readonly lines: string[]
}

export function createScriptedContext(options: ScriptedOptions = {}): ScriptedContext {
  const { phase = 'train', tasks = [], write = () => '', logprobs, collisions, hidden } = options
  let left = options.tokens ?? Number.POSITIVE_INFINITY
  const metrics: Record<string, number> = {}
  const asked: TextRequest[] = []
  const lines: string[] = []
  const instanceOf = (at: PromptCoordinates): { task: Task; instance: Instance } => {
    const task = tasks.find(({ name, version }) => name === at.task && version === at.taskVersion)
    if (!task) throw new RangeError(`no task ${at.task} version ${at.taskVersion} in this test`)
    return { task, instance: task.generate(at) }
  }
  const scoreOf = (
    role: string,
    conditioning: Int32Array,
    completion: Int32Array,
    isHiddenWanted = false,
  ): Scored => {
    const at = { role, conditioning: textOf(conditioning), completion: textOf(completion) }
    const values = logprobs?.(at) ?? Array.from(completion, () => -1)
    return {
      logprobs: Float32Array.from(values),
      entropies: new Float32Array(completion.length).fill(1),
      collisions: Float32Array.from(collisions?.(at) ?? values.map((value) => Math.exp(2 * value))),
      ...(isHiddenWanted && {
        hidden: Float32Array.from((hidden?.(at) ?? sortsBefore(conditioning, completion)).flat()),
      }),
    }
  }
  const writeOne = (request: TextRequest, index: number): Written => {
    const { role = 'policy', prompt, maxNewTokens = Number.POSITIVE_INFINITY } = request
    const text = write(prompt, { role, index }).slice(0, maxNewTokens)
    const [conditioning, tokens] = [tokensOf(prompt), tokensOf(text)]
    left -= tokens.length
    if (left < 0) throw new BudgetError('the plugin has no tokens left in this round')
    const scored = scoreOf(role, conditioning, tokens)
    return {
      text,
      conditioning,
      tokens,
      logprobs: scored.logprobs,
      finish: text.length === maxNewTokens ? 'length' : 'stop',
      version: 0,
    }
  }
  return {
    step: options.step ?? 0,
    phase,
    metrics,
    asked,
    lines,
    limits: options.limits ?? { context: 4096, completion: 1024 },
    random: (stream) => randomOf(`${options.seed ?? 0}/${stream}`),
    log: (message) => void lines.push(message),
    metric(name, value) {
      metrics[name] = value
    },
    async generate(requests) {
      asked.push(...requests)
      return requests.map((request) => Array.from({ length: request.n }, (_, i) => writeOne(request, i)))
    },
    score: async (items, { hidden: isHiddenWanted = false, top, teacher } = {}) =>
      items.map(({ role = teacher ?? 'policy', conditioning, completion }) => {
        const scored = scoreOf(role, conditioning, completion, isHiddenWanted)
        return top ? { ...scored, top: onlyTop(completion, scored) } : scored
      }),
    teachers: () => options.teachers ?? [],
    answer: async (questions, { teacher } = {}) =>
      questions.map(({ prompt, rewrite = {} }, index) => {
        const { question } = instanceOf(prompt).instance
        const whole = `${rewrite.before ?? ''}${question}${rewrite.after ?? ''}`
        return writeOne({ prompt: whole, n: 1, ...(teacher && { role: teacher }) }, index)
      }),
    embed: (texts) => texts.map(embedText),
    question: (at) => instanceOf(at).instance.question,
    examples: (at) => instanceOf(at).instance.examples ?? [],
    verify(at, completion) {
      const { task, instance } = instanceOf(at)
      return task.verify(instance, completion)
    },
    conditioning: (at, rewrite) =>
      tokensOf(`${rewrite?.before ?? ''}${instanceOf(at).instance.question}${rewrite?.after ?? ''}`),
    countTokens: (text) => tokensOf(text).length,
    encode: tokensOf,
    leaks: (at, text) => leaksAnswer(instanceOf(at).instance.key, text),
    privileged(at) {
      if (!options.privileged || phase === 'eval' || isHeldOut(at.seed)) return null
      const { key, steps } = instanceOf(at).instance
      return { key, steps }
    },
  }
}

/** For each token, a one-hot of the previous token's id modulo 8. */
function sortsBefore(conditioning: Int32Array, completion: Int32Array): number[][] {
  const before = [conditioning.at(-1) ?? 0, ...completion]
  return Array.from(completion, (_, t) => Array.from({ length: 8 }, (_, i) => (before[t]! % 8 === i ? 1 : 0)))
}

/** One token per character. */
export function tokensOf(text: string): Int32Array {
  return Int32Array.from(text, (character) => character.codePointAt(0)!)
}

export function textOf(tokens: Int32Array): string {
  return String.fromCodePoint(...tokens)
}

/** Mulberry32 on a hash of the stream's name. */
function randomOf(stream: string): () => number {
  let state = [...stream].reduce((sum, char) => Math.imul(sum ^ char.charCodeAt(0), 0x0100_0193), 0x811c_9dc5)
  return () => {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A teacher that names only the token that is there. */
function onlyTop(completion: Int32Array, { logprobs }: Scored): NonNullable<Scored['top']> {
  return { count: 1, tokens: completion.slice(), logprobs: logprobs.slice() }
}
