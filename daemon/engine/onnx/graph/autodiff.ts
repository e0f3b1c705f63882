// Reverse-mode differentiation over a graph's tape. The backward pass consists of more nodes in the same graph.

import type { Dimension } from './dimension.ts'
import { refuse, sameShape, sizeOf, type TapeEntry, type Value } from './graph.ts'
import { add, afterwards, concat, rowSums, slice } from './ops.ts'

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

/** Returns what `make` gave when it was first called. */
export type Once = (make: () => Value) => Value

export function once(): Once {
  let made: Value | undefined
  return (make) => {
    made ??= make()
    return made
  }
}

/**
 * Applies `build` to each range of x along an axis and joins the results along it. Nothing but x, what was `captured` and
 * the result is kept: the backward pass computes each part again, when that of the part before has finished, and gives
 * `build` the part's row sums of gradient times result. `kept`: a stage that is computed again takes the result of the first
 * time.
 */
export function inParts(
  x: Value,
  { axis, ranges, captured, kept }: PartOptions,
  build: (part: Value, range: Range, along?: Value) => Value,
): Value {
  const { graph } = x
  const { tape } = graph
  const start = tape.length
  const cut = (whole: Value, { from, to }: Range): Value => slice(whole, axis, from, to)
  const out = kept(() =>
    concat(
      ranges.map((range) => graph.inPart(() => build(cut(x, range), range))),
      axis,
    ),
  )
  tape.length = start
  /** Gradients of a part of x and of what was captured, after the part before. */
  const backward = (range: Range, g: Value, along: Value, before: Value): (Value | undefined)[] => {
    const from = afterwards(cut(x, range), [before])
    const begin = tape.length
    const to = build(from, range, cut(along, range))
    return pullBack(tape.splice(begin), to, cut(g, range), [from, ...captured])
  }
  graph.record([x, ...captured], [out], ([g]) => {
    if (!g) return []
    const along = rowSums(g, out)
    const ofX: Value[] = []
    let ofCaptured: (Value | undefined)[] = captured.map(() => undefined)
    for (const range of ranges) {
      const [own, ...others] = graph.inPart(() => backward(range, g, along, ofX.at(-1) ?? g))
      ofX.push(
        afterwards(
          own!,
          others.filter((gradient) => gradient !== undefined),
        ),
      )
      ofCaptured = ofCaptured.map((sofar, i) =>
        sofar && others[i] ? add(sofar, others[i]) : (sofar ?? others[i]),
      )
    }
    return [concat(ofX, axis), ...ofCaptured]
  })
  return out
}

interface PartOptions {
  axis: number
  ranges: readonly Range[]
  /** Other values that `build` reads and whose gradients are wanted. */
  captured: readonly Value[]
  kept: Once
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
