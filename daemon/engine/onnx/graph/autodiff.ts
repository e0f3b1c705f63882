// Reverse-mode differentiation over a graph's tape. The backward pass consists of more nodes in the same graph.

import type { Dimension } from './dimension.ts'
import { refuse, sameShape, sizeOf, type TapeEntry, type Value } from './graph.ts'
import { add, afterwards, concat, slice } from './ops.ts'

/**
 * Gradients of a scalar with respect to some values; undefined for a value that the scalar does not depend on. Walks
 * only the part of the tape that lies between them.
 */
export function gradients(scalar: Value, withRespectTo: readonly Value[]): (Value | undefined)[] {
  if (sizeOf(scalar.shape) !== 1) refuse('gradients', 'needs a scalar', scalar)
  const { graph } = scalar
  return pullBack([...graph.tape], scalar, graph.constant(Float32Array.of(1), scalar.shape), withRespectTo)
}

/** Places `from` (inclusive) to `to` (exclusive) along an axis. */
export interface Range {
  from: Dimension
  to: Dimension
}

interface StageOptions {
  /** Keep only the input and recompute the rest in the backward pass (Chen et al. 2016). */
  recompute: boolean
}

/**
 * Makes `build(input)` one stage of the backward pass, which must finish before earlier stages begin. Otherwise the
 * runtime would defer parameter gradients to the end and until then keep everything that they need. `captured` are the
 * other values that `build` reads and whose gradients are wanted.
 */
export function stage(
  input: Value,
  captured: readonly Value[],
  build: (input: Value) => Value,
  { recompute }: StageOptions,
): Value {
  const { tape } = input.graph
  const start = tape.length
  const out = build(input)
  const entries = tape.splice(start)
  input.graph.record([input, ...captured], [out], ([g]) => {
    if (!g) return []
    let [from, walked, to] = [input, entries, out]
    if (recompute) {
      // Wait for the gradient. Otherwise the runtime might recompute all stages at once, before they are needed.
      from = afterwards(input, [g])
      const begin = tape.length
      to = build(from)
      walked = tape.splice(begin)
    }
    const [before, ...found] = pullBack(walked, to, g, [from, ...captured])
    const own = found.filter((gradient) => gradient !== undefined)
    return [before && own.length > 0 ? afterwards(before, own) : before, ...found]
  })
  return out
}

/**
 * Applies `build` to each range of x along an axis and joins the results along it. Nothing but x and what was `captured`
 * is kept: the backward pass computes each part again, when that of the part before has finished.
 */
export function inParts(
  x: Value,
  axis: number,
  ranges: readonly Range[],
  captured: readonly Value[],
  build: (part: Value, range: Range) => Value,
): Value {
  const { tape } = x.graph
  const start = tape.length
  const out = concat(
    ranges.map((range) => build(slice(x, axis, range.from, range.to), range)),
    axis,
  )
  tape.length = start
  x.graph.record([x, ...captured], [out], ([g]) => {
    if (!g) return []
    const ofX: Value[] = []
    let ofCaptured: (Value | undefined)[] = captured.map(() => undefined)
    for (const range of ranges) {
      const from = afterwards(slice(x, axis, range.from, range.to), [ofX.at(-1) ?? g])
      const begin = tape.length
      const to = build(from, range)
      const walked = tape.splice(begin)
      const part = slice(g, axis, range.from, range.to)
      const [before, ...own] = pullBack(walked, to, part, [from, ...captured])
      ofX.push(
        afterwards(
          before!,
          own.filter((gradient) => gradient !== undefined),
        ),
      )
      ofCaptured = ofCaptured.map((sofar, i) => (sofar && own[i] ? add(sofar, own[i]) : (sofar ?? own[i])))
    }
    return [concat(ofX, axis), ...ofCaptured]
  })
  return out
}

/** Walks the tape entries backwards, starting from the gradient of `output`. */
function pullBack(
  entries: readonly TapeEntry[],
  output: Value,
  gradient: Value,
  withRespectTo: readonly Value[],
): (Value | undefined)[] {
  const dependent = new Set(withRespectTo.map((value) => value.name))
  for (const entry of entries) {
    if (entry.inputs.some((input) => dependent.has(input.name))) {
      for (const out of entry.outputs) dependent.add(out.name)
    }
  }

  const found = new Map<string, Value>([[output.name, gradient]])
  for (const entry of [...entries].reverse()) {
    const outputGradients = entry.outputs.map((out) => found.get(out.name))
    if (outputGradients.every((out) => out === undefined)) continue
    if (!entry.inputs.some((input) => dependent.has(input.name))) continue
    const inputGradients = entry.vectorJacobian(outputGradients)
    entry.inputs.forEach((input, index) => {
      const part = inputGradients[index]
      if (!part || !dependent.has(input.name)) return
      if (!sameShape(part.shape, input.shape)) {
        refuse('gradients', 'a rule returned a gradient of another shape than its input', part, input)
      }
      const sofar = found.get(input.name)
      found.set(input.name, sofar ? add(sofar, part) : part)
    })
  }
  return withRespectTo.map((value) => found.get(value.name))
}
