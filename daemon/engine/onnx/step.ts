// Computes a batch's gradient: sums the gradients of its micro-batches in tensors that the caller provides.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec } from '../decoder.ts'
import type { GradientReport } from '../engine.ts'
import { checkSequences, columnOf, taughtIn } from '../inputs.ts'
import { type BatchRequest, reportOf, type TensorSpace } from '../tensor-core.ts'
import type { Weights } from '../weights.ts'
import { type PackedBatch, pack, packTeacher } from './batch/pack.ts'
import { plan } from './batch/plan.ts'
import { partsFor } from './decoder/parts.ts'
import { buildGradient } from './decoder/training.ts'
import { type Scaling, scaled } from './loss-scale.ts'
import type { Data, Feeds, Held, Runtime } from './runtime/runtime.ts'

export interface StepParts {
  runtime: Runtime
  microBatchTokens: number
  /** Recompute each layer in the backward pass: less memory, about a third more work. */
  checkpointing?: boolean | undefined
  /** Matrix products in float16, with loss scaling. */
  scaling?: Scaling | undefined
  now: () => number
}

/** Tensors that graphs read and write: in the host's memory or on the device. */
export interface OnnxSpace<Tensors> extends TensorSpace<Tensors> {
  views(tensors: Tensors): Readonly<Record<string, Float32Array | Held>>
  /** Fills with zeros. */
  clear(tensors: Tensors): void
}

interface ComputedModel<Tensors> {
  spec: DecoderSpec
  parameters: Feeds
  space: OnnxSpace<Tensors>
}

export function gradientInto<Tensors>(
  gradient: Tensors,
  request: BatchRequest,
  model: ComputedModel<Tensors>,
  parts: StepParts,
): Promise<GradientReport> {
  const { scaling } = parts
  return scaling
    ? scaled(scaling, (scale) => compute(gradient, request, model, parts, scale))
    : compute(gradient, request, model, parts)
}

async function compute<Tensors>(
  gradient: Tensors,
  request: BatchRequest,
  { spec, parameters, space }: ComputedModel<Tensors>,
  { runtime, microBatchTokens, checkpointing = false, now }: StepParts,
  scale?: number,
): Promise<GradientReport> {
  const { sequences, objective, temperature, denominator, onProgress } = request
  const started = now()
  checkSequences(sequences, spec)
  const batches = plan(sequences, { tokens: microBatchTokens })
  if (batches.length === 0) throw new WaggleError('E_ENGINE', 'a training batch has no sequences')
  const columns = [...new Set(['mask', ...sequences.flatMap(({ columns }) => Object.keys(columns))])].sort()
  const taught = taughtIn(request, spec)
  const accumulate = batches.length > 1
  const isHalf = scale !== undefined
  const key = `gradient ${accumulate} ${checkpointing} ${isHalf} ${taught} ${JSON.stringify(objective)} ${columns}`
  const views = space.views(gradient)
  const into = prefixed('gradient', views)
  const common = {
    ...parameters,
    ...(accumulate ? prefixed('sofar', views) : {}),
    inverseDenominator: Float32Array.of((scale ?? 1) / denominator),
    ...(isHalf ? { inverseScale: Float32Array.of(1 / scale) } : {}),
  }
  if (accumulate) space.clear(gradient)

  const totals = new Float64Array(1 + Object.keys(objective.metrics).length)
  const counts = { completionTokens: 0, realTokens: 0, computedTokens: 0 }
  for (const [i, batch] of batches.entries()) {
    const packed = pack(sequences, batch)
    const filled = fillColumns(request, packed, columns)
    const teacher = taught === undefined ? {} : packTeacher(sequences, packed, taught)
    counts.realTokens += packed.tokens.length - 1
    counts.computedTokens += packed.tokens.length
    for (const value of filled['column.mask']!) counts.completionTokens += value
    const { parts, sizes } = partsFor(batch.shape, spec, {
      isShort: checkpointing,
      isOnDevice: runtime.keepsOnDevice,
    })
    const options = { accumulate, checkpointing, parts, isScaled: isHalf, taught }
    const graph = await runtime.compile(
      `${key} ${JSON.stringify(parts)}`,
      () => buildGradient(spec, objective, columns, options),
      { isHalf },
    )
    const { sums } = await graph.run(
      { ...common, ...inputsOf(packed, temperature), ...filled, ...teacher },
      sizes,
      into,
    )
    sums!.forEach((value, i) => {
      totals[i] = totals[i]! + value
    })
    onProgress?.((i + 1) / batches.length)
  }

  const sums = { totals, ...counts, microBatches: batches.length }
  const report = await reportOf(space, gradient, request, sums)
  return { ...report, seconds: (now() - started) / 1000 }
}

/** The name of the first tensor whose own norm is not finite in single precision. */
export function firstNonFinite(tensors: Weights): string | undefined {
  const overflows = (values: Float32Array): boolean =>
    !Number.isFinite(Math.fround(values.reduce((total, value) => total + value * value, 0)))
  return Object.keys(tensors).find((name) => overflows(tensors[name]!))
}

/** The graph's inputs for a micro-batch's tokens. */
export function inputsOf(packed: PackedBatch, temperature: number): Record<string, Data> {
  const { mask: _, rows: __, ...tokens } = packed
  return { ...tokens, inverseTemperature: Float32Array.of(1 / (temperature || 1)) }
}

function prefixed<T>(prefix: string, data: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(data).map(([name, values]) => [`${prefix}.${name}`, values]))
}

/** The objective's columns as [rows, segment] tables. A sequence's own mask, if given, narrows the padding mask. */
function fillColumns(
  { sequences }: BatchRequest,
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
