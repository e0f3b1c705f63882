// One optimizer step: micro-batches' gradients are summed in the gradient's arena, looked at, and applied in place.
// `mixture.ts` puts a step together from several such gradients.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec, Weights } from '../decoder.ts'
import type { GradientRequest, TrainReport, TrainRequest } from '../engine.ts'
import { checkSequences, columnOf } from '../inputs.ts'
import type { Arena, Layout } from './arena.ts'
import type { Bindings } from './dimension.ts'
import { partSizes, partsOf } from './head.ts'
import { type Scaling, scaled } from './loss-scale.ts'
import { applyAdamW, type Moments, squaredNorm } from './optimizer.ts'
import { type PackedBatch, pack } from './pack.ts'
import { type MicroBatch, plan } from './plan.ts'
import type { Data, Feeds, Held, Runtime } from './runtime.ts'
import { buildGradient } from './training.ts'

export interface Trainable {
  spec: DecoderSpec
  layout: Layout
  /** Every parameter by name: the frozen ones and views of `weights`. */
  parameters: Weights
  weights: Arena
  gradient: Arena
  moments: Moments
  /** Steps that the moments have seen. */
  steps: number
}

export interface StepParts {
  runtime: Runtime
  microBatchTokens: number
  /** Layers are computed again for the backward pass: less memory, about a third more work. */
  checkpointing?: boolean | undefined
  /** Products of matrices are computed in float16, with the loss scaled. */
  scaling?: Scaling | undefined
  now: () => number
}

/** Changes weights and moments, but not `steps`; a step that is not finite changes nothing. */
export async function trainStep(
  request: TrainRequest,
  state: Trainable,
  parts: StepParts,
): Promise<TrainReport> {
  const started = parts.now()
  const report = await computeGradient(request, state, parts)
  const applied = report.nonFinite === undefined
  if (applied) applyAdamW(request.optimizer, state.steps + 1, report.gradientNorm, state)
  return { applied, ...report, seconds: (parts.now() - started) / 1000 }
}

/** Leaves the batch's gradient in `state.gradient`. */
export function computeGradient(
  request: GradientRequest,
  { spec, parameters, layout, gradient }: Trainable,
  parts: StepParts,
): Promise<Omit<TrainReport, 'applied'>> {
  const place: GradientPlace = {
    views: gradient.views,
    clear: () => gradient.flat.fill(0),
    squaredNorm: () => squaredNorm(gradient),
    firstNonFinite: () => firstNonFinite(layout, gradient),
  }
  return gradientInto(place, request, { spec, parameters }, parts)
}

/** Where a batch's gradient is left: the host's memory or the device's. */
export interface GradientPlace {
  /** By name. */
  views: Readonly<Record<string, Float32Array | Held>>
  clear(): unknown
  squaredNorm(): number | Promise<number>
  firstNonFinite(): string | Promise<string>
}

export function gradientInto(
  gradient: GradientPlace,
  request: GradientRequest,
  model: { spec: DecoderSpec; parameters: Feeds },
  parts: StepParts,
): Promise<Omit<TrainReport, 'applied'>> {
  const { scaling } = parts
  return scaling
    ? scaled(scaling, (scale) => compute(gradient, request, model, parts, scale))
    : compute(gradient, request, model, parts)
}

async function compute(
  gradient: GradientPlace,
  request: GradientRequest,
  { spec, parameters }: { spec: DecoderSpec; parameters: Feeds },
  { runtime, microBatchTokens, checkpointing = false, now }: StepParts,
  scale?: number,
): Promise<Omit<TrainReport, 'applied'>> {
  const { sequences, objective, temperature, denominator } = request
  const started = now()
  checkSequences(sequences, spec)
  const batches = plan(sequences, { tokens: microBatchTokens })
  if (batches.length === 0) throw new WaggleError('E_ENGINE', 'a training batch has no sequences')
  const columns = [...new Set(['mask', ...sequences.flatMap(({ columns }) => Object.keys(columns))])].sort()
  const accumulate = batches.length > 1
  const isHalf = scale !== undefined
  const key = `gradient ${accumulate} ${checkpointing} ${isHalf} ${JSON.stringify(objective)} ${columns}`
  const into = prefixed('gradient', gradient.views)
  const common = {
    ...parameters,
    ...(accumulate ? prefixed('sofar', gradient.views) : {}),
    inverseDenominator: Float32Array.of((scale ?? 1) / denominator),
    ...(isHalf ? { inverseScale: Float32Array.of(1 / scale) } : {}),
  }
  if (accumulate) gradient.clear()

  const totals = new Float64Array(1 + Object.keys(objective.metrics).length)
  const counts = { completionTokens: 0, realTokens: 0, computedTokens: 0 }
  for (const batch of batches) {
    const packed = pack(sequences, batch)
    const filled = fillColumns(request, packed, columns)
    counts.realTokens += packed.tokens.length - 1
    counts.computedTokens += packed.tokens.length
    for (const value of filled['column.mask']!) counts.completionTokens += value
    const { headParts, sizes } = headOf(batch, spec)
    const options = { accumulate, checkpointing, headParts, isScaled: isHalf }
    const graph = await runtime.compile(
      `${key} ${headParts}`,
      () => buildGradient(spec, objective, columns, options),
      { isHalf },
    )
    const { sums } = await graph.run({ ...common, ...inputsOf(packed, temperature), ...filled }, sizes, into)
    sums!.forEach((value, i) => {
      totals[i] = totals[i]! + value
    })
  }

  const gradientNorm = Math.sqrt(await gradient.squaredNorm())
  const nonFinite = !Number.isFinite(totals[0]!)
    ? 'loss'
    : Number.isFinite(gradientNorm)
      ? undefined
      : await gradient.firstNonFinite()
  const metrics = Object.keys(objective.metrics).map((name, i) => [
    name,
    totals[i + 1]! / Math.max(1, counts.completionTokens),
  ])
  return {
    ...(nonFinite === undefined ? {} : { nonFinite }),
    loss: totals[0]! / denominator,
    gradientNorm,
    metrics: Object.fromEntries(metrics),
    ...counts,
    microBatches: batches.length,
    seconds: (now() - started) / 1000,
  }
}

/** The first tensor whose own norm is not finite in single precision. */
export function firstNonFinite({ names }: Pick<Layout, 'names'>, { views }: { views: Weights }): string {
  const overflows = (values: Float32Array): boolean =>
    !Number.isFinite(Math.fround(values.reduce((total, value) => total + value * value, 0)))
  return names.find((name) => overflows(views[name]!)) ?? 'the norm of all gradients'
}

/** The graph's inputs for a micro-batch's tokens. */
export function inputsOf(packed: PackedBatch, temperature: number): Record<string, Data> {
  const { mask: _, rows: __, ...tokens } = packed
  return { ...tokens, inverseTemperature: Float32Array.of(1 / (temperature || 1)) }
}

/** A micro-batch's sizes, and in how many parts its rows go through the head. */
export function headOf(
  { shape }: MicroBatch,
  { vocabulary }: DecoderSpec,
): { headParts: number; sizes: Bindings } {
  const rows = 1 + shape.segmentTokens
  const headParts = partsOf(rows, vocabulary)
  return { headParts, sizes: { ...shape, ...partSizes(rows, headParts) } }
}

function prefixed<T>(prefix: string, data: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(data).map(([name, values]) => [`${prefix}.${name}`, values]))
}

/** The objective's columns as [rows, segment] tables. A sequence's own mask, if given, narrows the padding mask. */
function fillColumns(
  { sequences }: GradientRequest,
  { mask, rows }: PackedBatch,
  columns: readonly string[],
): Record<string, Float32Array> {
  const filled: Record<string, Float32Array> = {}
  for (const column of columns) {
    const table = column === 'mask' ? mask.slice() : new Float32Array(mask.length)
    for (const { member, slot, length } of rows) {
      const values = columnOf(sequences[member]!, column)
      if (typeof values === 'number') table.fill(values, slot, slot + length)
      else if (values) table.set(values, slot)
    }
    filled[`column.${column}`] = table
  }
  return filled
}
