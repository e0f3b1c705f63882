// The ONNX engine itself, in whichever thread it is created: weights, optimizer state, and the calls of the contract.
// `worker.ts` puts it into a thread; `index.ts` is what the daemon uses.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Core } from '../core.ts'
import { type DecoderSpec, parameterShapes, type Weights } from '../decoder.ts'
import type { Score, TrainRequest } from '../engine.ts'
import { checkSequences, columnOf, copyChecked } from '../inputs.ts'
import type { Bindings } from './dimension.ts'
import { generate } from './generate.ts'
import { type MicroBatch, type PackedBatch, pack, plan } from './plan.ts'
import { createRuntime, type Data, type Runtime } from './runtime.ts'
import { buildAccumulate, buildApply, buildScore, buildStep, OPTIMIZER_SCALARS } from './training.ts'

export type { Core }

export interface CoreOptions {
  threads: number
  /** Tokens, padding included, in a micro-batch: small enough for activations to stay in the processor's cache. */
  microBatchTokens?: number
  maxSessions?: number
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

interface State {
  spec: DecoderSpec
  names: string[]
  weights: Weights
  first: Weights
  second: Weights
  /** Where the next step writes; swapped with the three above when it is applied. */
  spare: { weights: Weights; first: Weights; second: Weights } | undefined
  steps: number
}

export function createCore({ threads, microBatchTokens = 2048, maxSessions = 48, now }: CoreOptions): Core {
  const runtime: Runtime = createRuntime({ threads, maxSessions })
  let state: State | undefined

  const opened = (): State => {
    if (!state) throw new WaggleError('E_ENGINE', 'the engine holds no model yet')
    return state
  }

  const inputsOf = (packed: PackedBatch, temperature: number): Record<string, Data> => ({
    tokens: packed.tokens,
    positions: packed.positions,
    prefixBias: packed.prefixBias,
    targets: packed.targets,
    inverseTemperature: Float32Array.of(1 / (temperature || 1)),
  })

  return {
    async open({ spec, weights, optimizer }) {
      const shapes = parameterShapes(spec)
      const copies = copyChecked(weights, shapes, 'weights')
      // Compiled graphs hold one model's sizes.
      if (state && JSON.stringify(state.spec) !== JSON.stringify(spec)) await runtime.close()
      state = {
        spec,
        names: [...shapes.keys()],
        weights: copies,
        first: optimizer ? copyChecked(optimizer.first, shapes, 'first moments') : zeros(shapes),
        second: optimizer ? copyChecked(optimizer.second, shapes, 'second moments') : zeros(shapes),
        spare: undefined,
        steps: optimizer?.steps ?? 0,
      }
    },

    async generate(request, isAborted) {
      const { spec, weights } = opened()
      return generate(request, { spec, runtime, weights, isAborted })
    },

    async score({ sequences, temperature }) {
      const { spec, weights } = opened()
      const scores: Score[] = new Array(sequences.length)
      checkSequences(sequences, spec)
      for (const batch of plan(sequences, { tokens: microBatchTokens })) {
        const { shape } = batch
        const graph = await runtime.compile('score', () => buildScore(spec))
        const out = await graph.run(
          { ...weights, ...inputsOf(pack(sequences, batch), temperature) },
          sizesOf(shape),
        )
        forEachRow(batch, (member, row) => {
          const start = row * shape.segment
          const end = start + sequences[member]!.completion.length
          scores[member] = {
            logprobs: out.logprob!.slice(start, end),
            entropies: out.entropy!.slice(start, end),
          }
        })
      }
      return scores
    },

    async train(request) {
      const current = opened()
      const { spec } = current
      const { sequences, objective, temperature, denominator } = request
      const started = now()
      checkSequences(sequences, spec)
      const columns = [
        ...new Set(['mask', ...sequences.flatMap(({ columns }) => Object.keys(columns))]),
      ].sort()
      const batches = plan(sequences, { tokens: microBatchTokens })
      if (batches.length === 0) throw new WaggleError('E_ENGINE', 'a training batch has no sequences')
      current.spare ??= {
        weights: zeros(parameterShapes(spec)),
        first: zeros(parameterShapes(spec)),
        second: zeros(parameterShapes(spec)),
      }
      const { spare } = current
      const into: Record<string, Float32Array> = {}
      for (const name of current.names) {
        into[`weight.${name}`] = spare.weights[name]!
        into[`first.${name}`] = spare.first[name]!
        into[`second.${name}`] = spare.second[name]!
      }
      const moments: Record<string, Data> = {}
      for (const name of current.names) {
        moments[`moment1.${name}`] = current.first[name]!
        moments[`moment2.${name}`] = current.second[name]!
      }
      const scalars = optimizerScalars(request.optimizer, current.steps + 1)
      const formula = JSON.stringify(objective)
      const common = { inverseDenominator: Float32Array.of(1 / denominator) }

      const totals = new Float64Array(1 + Object.keys(objective.metrics).length)
      let realTokens = 0
      let computedTokens = 0
      let completionTokens = 0
      let squares: Float32Array | undefined
      let sofar: Record<string, Float32Array> = {}
      for (const [index, batch] of batches.entries()) {
        const { shape } = batch
        const packed = pack(sequences, batch)
        const filled = fillColumns(request, batch, packed, columns)
        realTokens += packed.realTokens
        computedTokens += packed.tokens.length
        for (const value of filled['column.mask']!) completionTokens += value
        const feeds = { ...current.weights, ...inputsOf(packed, temperature), ...common, ...filled }
        let out: Record<string, Float32Array>
        if (batches.length === 1) {
          const graph = await runtime.compile(`step ${formula}`, () => buildStep(spec, objective, columns))
          out = await graph.run({ ...feeds, ...moments, ...scalars }, sizesOf(shape), into)
          squares = out.squares!
        } else {
          const first = index === 0
          const graph = await runtime.compile(`accumulate ${first} ${formula}`, () =>
            buildAccumulate(spec, objective, columns, first),
          )
          out = await graph.run({ ...feeds, ...prefixed('sofar', sofar) }, sizesOf(shape))
          sofar = Object.fromEntries(current.names.map((name) => [name, out[`gradient.${name}`]!]))
        }
        out.sums!.forEach((value, i) => {
          totals[i] = totals[i]! + value
        })
      }
      if (batches.length > 1) {
        const graph = await runtime.compile('apply', () => buildApply(spec))
        const out = await graph.run(
          { ...current.weights, ...prefixed('gradient', sofar), ...moments, ...scalars },
          {},
          into,
        )
        squares = out.squares!
      }

      const gradientNorm = Math.sqrt(squares!.reduce((total, value) => total + value, 0))
      const broken = squares!.findIndex((value) => !Number.isFinite(value))
      const nonFinite = !Number.isFinite(totals[0]!)
        ? 'loss'
        : broken >= 0
          ? current.names[broken]!
          : undefined
      if (nonFinite === undefined) {
        current.spare = { weights: current.weights, first: current.first, second: current.second }
        current.weights = spare.weights
        current.first = spare.first
        current.second = spare.second
        current.steps += 1
      }
      const metrics: Record<string, number> = {}
      Object.keys(objective.metrics).forEach((name, i) => {
        metrics[name] = totals[i + 1]! / Math.max(1, completionTokens)
      })
      return {
        applied: nonFinite === undefined,
        ...(nonFinite === undefined ? {} : { nonFinite }),
        loss: totals[0]! / denominator,
        gradientNorm,
        metrics,
        completionTokens,
        realTokens,
        computedTokens,
        microBatches: batches.length,
        seconds: (now() - started) / 1000,
      }
    },

    weights() {
      return copy(opened().weights)
    },

    setWeights(weights) {
      const current = opened()
      current.weights = copyChecked(weights, parameterShapes(current.spec), 'weights')
    },

    optimizer() {
      const { steps, first, second } = opened()
      return { steps, first: copy(first), second: copy(second) }
    },

    async close() {
      state = undefined
      await runtime.close()
    },
  }
}

function sizesOf({ groups, rows, prefix, segment }: MicroBatch['shape']): Bindings {
  return { groups, rows, prefix, segment }
}

function forEachRow({ shape, units }: MicroBatch, visit: (member: number, row: number) => void): void {
  units.forEach((members, group) => {
    members.forEach((member, i) => {
      visit(member, group * shape.rows + i)
    })
  })
}

function prefixed(prefix: string, data: Record<string, Float32Array>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(data).map(([name, values]) => [`${prefix}.${name}`, values]))
}

/** The objective's columns as [rows, segment] tables. A sequence's own mask, if given, narrows the padding mask. */
function fillColumns(
  { sequences }: TrainRequest,
  batch: MicroBatch,
  packed: PackedBatch,
  columns: readonly string[],
): Record<string, Float32Array> {
  const { shape } = batch
  const filled: Record<string, Float32Array> = {}
  for (const column of columns) {
    const table = column === 'mask' ? packed.mask.slice() : new Float32Array(packed.mask.length)
    forEachRow(batch, (member, row) => {
      const values = columnOf(sequences[member]!, column)
      if (values === undefined) return
      const start = row * shape.segment
      const { length } = sequences[member]!.completion
      if (typeof values === 'number') table.fill(values, start, start + length)
      else table.set(values, start)
    })
    filled[`column.${column}`] = table
  }
  return filled
}

function optimizerScalars(options: TrainRequest['optimizer'], step: number): Record<string, Float32Array> {
  const values: Record<(typeof OPTIMIZER_SCALARS)[number], number> = {
    ...options,
    firstCorrection: 1 / (1 - options.beta1 ** step),
    secondCorrection: 1 / (1 - options.beta2 ** step),
  }
  return Object.fromEntries(
    OPTIMIZER_SCALARS.map((name) => [`optimizer.${name}`, Float32Array.of(values[name])]),
  )
}

function zeros(shapes: ReadonlyMap<string, number[]>): Weights {
  return Object.fromEntries(
    [...shapes].map(([name, shape]) => [name, new Float32Array(shape.reduce((a, b) => a * b, 1))]),
  )
}

function copy(weights: Weights): Weights {
  return Object.fromEntries(Object.entries(weights).map(([name, values]) => [name, values.slice()]))
}
