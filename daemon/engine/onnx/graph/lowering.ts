// Replaces operations that a provider lacks or computes wrongly by several that it computes correctly. Operations that
// the provider lacks would otherwise run on the CPU, with arrays copied there and back within each run.

import type { NodeProto, TensorProto } from './proto.ts'

/** The nodes that replace a node, and the constants that they use; undefined to keep the node. */
export type Lowering = (
  node: NodeProto,
  isUsed: (output: string) => boolean,
) => { nodes: NodeProto[]; constants: TensorProto[] } | undefined

const FLOAT = 1
const INT64 = 7

/** ONNX Runtime 1.30's WebGPU provider. */
export const lowerForWebGpu: Lowering = (node, isUsed) => {
  const { op, inputs, outputs, attributes } = node
  if (op === 'LogSoftmax' && attributes.axis === -1) return logSoftmax(inputs[0]!, outputs[0]!)
  if (op !== 'SimplifiedLayerNormalization' || !outputs[1]) return undefined
  const single = { ...node, outputs: outputs.slice(0, 1) }
  if (!isUsed(outputs[1])) return { nodes: [single], constants: [] }
  // The provider computes this second output wrongly, without reporting an error.
  const { nodes, constants } = inverseRoot(
    inputs[0]!,
    (attributes.epsilon as { float: number }).float,
    outputs[1],
  )
  return { nodes: [single, ...nodes], constants }
}

/** LogSoftmax, which the provider lacks. Subtracts the largest value first, so that nothing overflows. */
function logSoftmax(x: string, out: string): ReturnType<Lowering> {
  const part = (name: string): string => `${out}.${name}`
  return {
    nodes: [
      node('ReduceMax', [x, LAST.name], part('largest'), { keepdims: 1 }),
      node('Sub', [x, part('largest')], part('shifted')),
      node('Exp', [part('shifted')], part('powers')),
      node('ReduceSum', [part('powers'), LAST.name], part('sum'), { keepdims: 1 }),
      node('Log', [part('sum')], part('log')),
      node('Sub', [part('shifted'), part('log')], out),
    ],
    constants: [LAST],
  }
}

/** 1 / sqrt(mean(x^2) + epsilon) over the last axis, which is kept with size 1. */
function inverseRoot(
  x: string,
  epsilon: number,
  out: string,
): { nodes: NodeProto[]; constants: TensorProto[] } {
  const part = (name: string): string => `${out}.${name}`
  const small = constant(`lowered.${epsilon}`, FLOAT, Float32Array.of(epsilon))
  return {
    nodes: [
      node('Mul', [x, x], part('squares')),
      node('ReduceMean', [part('squares'), LAST.name], part('mean'), { keepdims: 1 }),
      node('Add', [part('mean'), small.name], part('sum')),
      node('Sqrt', [part('sum')], part('root')),
      node('Reciprocal', [part('root')], out),
    ],
    constants: [LAST, small],
  }
}

const LAST = constant('lowered.last', INT64, BigInt64Array.of(-1n))

function constant(name: string, elementType: number, values: Float32Array | BigInt64Array): TensorProto {
  return { name, elementType, shape: [values.length], raw: new Uint8Array(values.buffer as ArrayBuffer) }
}

export function node(
  op: string,
  inputs: string[],
  output: string,
  attributes: NodeProto['attributes'] = {},
): NodeProto {
  return { op, domain: '', inputs, outputs: [output], attributes }
}
