// The smallest policy that the learner can train: one number, which says how often a text begins with an even character,
// and a task that rewards just that. Sampling, log-probs, objectives and their gradients are exact; the tensors around the
// number are there because a checkpoint has them. Computing takes virtual time.

import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import { trainableShapes } from '../../daemon/engine/decoder.ts'
import type { Engine, GradientRequest, TrainSequence } from '../../daemon/engine/engine.ts'
import type { OpenRequest } from '../../daemon/engine/opening.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import { characterTokenizer, END } from '../rollout/characters.ts'
import { type Columns, compile } from './compiled.ts'
import { randomOf } from './world.ts'

/** Printable ASCII: 47 even and 47 odd characters, after the tokenizer's four tokens. */
const [LOWEST, HIGHEST, SHIFT] = [33, 126, 4]
const CLASS = 47
/** Characters of a text: long enough to be recognised as a copy. */
const LENGTH = 33

export const SPEC: DecoderSpec = {
  ...{ vocabulary: 132, width: 1, layers: 1, heads: 1, kvHeads: 1, headWidth: 2, feedForward: 1 },
  ...{ normEpsilon: 1e-5, ropeFrequencies: [1], contextLength: 64 },
  ...{ tiedEmbeddings: true, attentionBias: false, queryKeyNorm: false },
}
export const MAX_TOKENS = LENGTH + 1
const [FIRST] = [...trainableShapes(SPEC).keys()]

export const isEven = (text: string): boolean => (text.codePointAt(0) ?? 1) % 2 === 0

export const even: Task = {
  ...TASKS[0]!,
  name: 'even',
  generate: ({ seed }) => ({ question: `x${seed}`, key: 'b', steps: [] }),
  verify: (_, text) => ({ score: isEven(text) ? 1 : 0, answer: null, found: 'none' }),
}

export function blankWeights(skill = 0): Weights {
  const weights: Weights = {}
  for (const [name, shape] of trainableShapes(SPEC))
    weights[name] = new Float32Array(shape.reduce((a, b) => a * b, 1))
  weights[FIRST!]![0] = skill
  return weights
}

export const skillOf = (weights: Weights): number => weights[FIRST!]![0]!

/** All nodes begin with the same model. */
export const model = {
  spec: SPEC,
  weights: blankWeights(),
  digest: 'a'.repeat(64),
  tokenizer: characterTokenizer(),
} as unknown as Model

/** As the swarm uses the tokenizer. */
export const codec = codecOf(model.tokenizer, SPEC.vocabulary, SPEC.contextLength)

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

export function writeText(isRight: boolean, next: () => number): string {
  const key = String.fromCharCode(LOWEST + 2 * Math.floor(next() * CLASS) + (isRight ? 1 : 0))
  let text = key
  while (text.length < LENGTH)
    text += String.fromCharCode(LOWEST + Math.floor(next() * (HIGHEST - LOWEST + 1)))
  return text
}

interface Told {
  logprobs: Float32Array
  entropies: Float32Array
  collisions: Float32Array
  pit: { above: Float32Array; ties: Float32Array }
}

/** What the policy says of a text's tokens. */
export function tell(tokens: Int32Array, skill: number): Told {
  const p = sigmoid(skill)
  const isRight = (tokens[0]! - SHIFT) % 2 === 0
  const of = (first: number, other: number): Float32Array => {
    const values = new Float32Array(tokens.length).fill(other)
    values[0] = first
    return values
  }
  const [mine, others] = isRight ? [p, 1 - p] : [1 - p, p]
  const logprobs = of(Math.log(mine / CLASS), -Math.log(2 * CLASS))
  const entropies = of(entropyOf(p), Math.log(2 * CLASS))
  const collisions = of((p * p + (1 - p) * (1 - p)) / CLASS, 1 / (2 * CLASS))
  const [above, ties] = [of(others > mine ? others : 0, 0), of(others === mine ? 1 : mine, 1)]
  const end = tokens.length - 1
  if (tokens[end] === END) {
    logprobs[end] = entropies[end] = 0
    collisions[end] = 1
  }
  return { logprobs, entropies, collisions, pit: { above, ties } }
}

function entropyOf(p: number): number {
  const part = (q: number): number => (q > 0 ? -q * Math.log(q / CLASS) : 0)
  return part(p) + part(1 - p)
}

export interface EngineTrouble {
  /** The model gives NaN. */
  nan(): boolean
  /** The engine fails. */
  fails(): boolean
  /** Asked when a call ends; if false, the node has died, and the call never returns. */
  onCall(): boolean
}

/** Calls are served one after another. */
export function createTabularEngine(
  { generateMs, trainMs }: { generateMs: number; trainMs: number },
  { sleep, trouble }: { sleep(ms: number): Promise<void>; trouble: EngineTrouble },
): Engine {
  let skill = 0
  let version = 0
  let adam = { steps: 0, first: 0, second: 0 }
  const slots = new Map<string, number>()
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(ms: number, run: () => Result): Promise<Result> => {
    const done = last.then(async () => {
      if (ms > 0) await sleep(ms)
      if (!trouble.onCall()) return new Promise<never>(() => {})
      if (ms > 0 && trouble.fails()) throw new Error('the engine failed')
      return run()
    })
    last = done.catch(() => {})
    return done
  }
  const vector = (name: string): number => {
    const value = slots.get(name)
    if (value === undefined) throw new Error(`vector ${name} is empty`)
    return value
  }
  const measured = (
    x: number,
    metric?: { beta2: number; epsilon: number; scale?: number; limit?: number },
  ): number => {
    if (!metric) return x
    const { beta2, epsilon, scale = 1, limit = Number.POSITIVE_INFINITY } = metric
    const root = Math.sqrt(adam.second / (1 - beta2 ** Math.max(1, adam.steps))) + epsilon
    return Math.max(-limit, Math.min(limit, (scale * x) / root))
  }

  function gradientOf({ sequences, objective, denominator }: Omit<GradientRequest, 'into'>) {
    const lossOf = compile(objective.loss)
    const metrics = Object.entries(objective.metrics).map(([name, metric]) => ({
      ...{ name, of: compile(metric), sum: 0 },
    }))
    const out = new Float64Array(2)
    let [loss, slope, tokens] = [0, 0, 0]
    for (const sequence of sequences) {
      const columns = columnsOf(sequence, skill)
      const isRight = (sequence.completion[0]! - SHIFT) % 2 === 0
      const p = sigmoid(skill)
      for (let i = 0; i < sequence.completion.length; i++) {
        if (columns.mask![i] === 0) continue
        lossOf(columns, i, out)
        loss += out[0]!
        // No other token depends on the number.
        if (i === 0) slope += out[1]! * (isRight ? 1 - p : -p)
        for (const metric of metrics) {
          metric.of(columns, i, out)
          metric.sum += out[0]!
        }
        tokens++
      }
    }
    const isNan = trouble.nan()
    return {
      slope: isNan ? Number.NaN : slope / denominator,
      report: {
        loss: isNan ? Number.NaN : loss / denominator,
        gradientNorm: isNan ? Number.NaN : Math.abs(slope / denominator),
        ...(isNan ? { nonFinite: FIRST! } : {}),
        metrics: Object.fromEntries(metrics.map(({ name, sum }) => [name, sum / tokens])),
        ...{ completionTokens: tokens, realTokens: tokens, computedTokens: tokens, microBatches: 1 },
        seconds: trainMs / 1000,
      },
    }
  }

  function step(slope: number, rate: number, { beta1, beta2, epsilon, maxGradientNorm }: Adam): boolean {
    if (!Number.isFinite(slope)) return false
    const cut = slope * Math.min(1, maxGradientNorm / Math.max(Math.abs(slope), 1e-12))
    adam = {
      steps: adam.steps + 1,
      first: Math.fround(beta1 * adam.first + (1 - beta1) * cut),
      second: Math.fround(beta2 * adam.second + (1 - beta2) * cut * cut),
    }
    const [m, v] = [adam.first / (1 - beta1 ** adam.steps), adam.second / (1 - beta2 ** adam.steps)]
    skill = Math.fround(skill - (rate * m) / (Math.sqrt(v) + epsilon))
    return true
  }

  return {
    info: { kind: 'tabular', device: 'cpu', reason: 'a simulation', threads: 1 },
    open: ({ weights, optimizer, version: of = 0 }: OpenRequest) =>
      inTurn(0, () => {
        skill = skillOf(weights as Weights)
        version = of
        slots.clear()
        adam = optimizer
          ? { steps: optimizer.steps, first: skillOf(optimizer.first), second: skillOf(optimizer.second) }
          : { steps: 0, first: 0, second: 0 }
      }),
    generate: ({ samples }, { signal, onFinish } = {}) =>
      inTurn(generateMs, () =>
        samples.map(({ seed }, i) => {
          const random = randomOf(`text ${seed}`)
          const text = writeText(random.next() < sigmoid(skill), random.next)
          const tokens = model.tokenizer.encodeCompletion(text, 'stop')
          const { logprobs, entropies } = tell(tokens, skill)
          if (trouble.nan()) logprobs[0] = Number.NaN
          const finish = signal?.aborted ? ('aborted' as const) : ('stop' as const)
          const sample = { tokens, logprobs, policyLogprobs: logprobs, entropies, finish, version }
          onFinish?.(i, sample)
          return sample
        }),
      ),
    score: ({ sequences }) => inTurn(0, () => sequences.map(({ completion }) => tell(completion, skill))),
    train: (request) =>
      inTurn(trainMs, () => {
        const { slope, report } = gradientOf(request)
        return { ...report, applied: step(slope, request.optimizer.learningRate, request.optimizer) }
      }),
    gradient: (request) =>
      inTurn(trainMs, () => {
        const { slope, report } = gradientOf(request)
        slots.set(request.into, slope)
        return report
      }),
    vectors: () => inTurn(0, () => [...slots.keys()]),
    combine: ({ into, terms }) =>
      inTurn(0, () => {
        const sum = terms.reduce(
          (so, { vector: name, factor }) => so + (factor === 0 ? 0 : factor * vector(name)),
          0,
        )
        slots.set(into, sum)
      }),
    dot: ({ a, b, metric }) => inTurn(0, () => vector(a) * measured(vector(b), metric)),
    norm: ({ vector: name }) => inTurn(0, () => Math.abs(vector(name))),
    step: ({ along, optimizer }) =>
      inTurn(0, () => {
        const applied = step(vector(along), optimizer.learningRate, optimizer)
        return {
          applied,
          norm: Math.abs(vector(along)),
          seconds: 0,
          ...(applied ? {} : { nonFinite: FIRST! }),
        }
      }),
    weights: () => inTurn(0, () => blankWeights(skill)),
    setWeights: (weights: Weights, of?: number) =>
      inTurn(0, () => {
        skill = skillOf(weights)
        version = of ?? version
      }),
    processorSeconds: async () => 0,
    optimizer: () =>
      inTurn(0, () => ({
        steps: adam.steps,
        first: blankWeights(adam.first),
        second: blankWeights(adam.second),
      })),
    close: () => inTurn(0, () => {}),
  }
}

type Adam = { beta1: number; beta2: number; epsilon: number; maxGradientNorm: number }

function columnsOf({ completion, columns }: TrainSequence, skill: number): Columns {
  const told = tell(completion, skill)
  const filled = Object.fromEntries(
    Object.entries({ mask: 1, ...columns }).map(([name, values]) => [
      name,
      typeof values === 'number' ? new Float32Array(completion.length).fill(values) : values,
    ]),
  )
  return { ...filled, logprob: told.logprobs, entropy: told.entropies, ...told.pit }
}
