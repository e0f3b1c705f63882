// Reverse-mode differentiation over a graph's tape. The backward pass is more nodes in the same graph.

import { refuse, sameShape, sizeOf, type Value } from './graph.ts'
import { add } from './ops.ts'

/**
 * Gradients of a scalar with respect to values. Entries are undefined where the scalar does not depend on the value.
 * Only the part of the tape that lies between the two is walked.
 */
export function gradients(scalar: Value, withRespectTo: readonly Value[]): (Value | undefined)[] {
  if (sizeOf(scalar.shape) !== 1) refuse('gradients', 'needs a scalar', scalar)
  const { graph } = scalar
  const entries = [...graph.tape]

  const dependent = new Set(withRespectTo.map((value) => value.name))
  for (const entry of entries) {
    if (entry.inputs.some((input) => dependent.has(input.name))) {
      for (const output of entry.outputs) dependent.add(output.name)
    }
  }

  const found = new Map<string, Value>([[scalar.name, graph.constant(Float32Array.of(1), scalar.shape)]])
  for (const entry of entries.reverse()) {
    const outputGradients = entry.outputs.map((output) => found.get(output.name))
    if (outputGradients.every((gradient) => gradient === undefined)) continue
    if (!entry.inputs.some((input) => dependent.has(input.name))) continue
    const inputGradients = entry.vectorJacobian(outputGradients)
    entry.inputs.forEach((input, index) => {
      const gradient = inputGradients[index]
      if (!gradient || !dependent.has(input.name)) return
      if (!sameShape(gradient.shape, input.shape)) {
        refuse('gradients', 'a rule returned a gradient of another shape than its input', gradient, input)
      }
      const sofar = found.get(input.name)
      found.set(input.name, sofar ? add(sofar, gradient) : gradient)
    })
  }
  return withRespectTo.map((value) => found.get(value.name))
}
