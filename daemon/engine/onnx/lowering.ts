// Operations that a provider lacks, as several that it has: what it cannot do itself would be done on the CPU, with the
// arrays copied there and back within each run.

import type { NodeProto, TensorProto } from './proto.ts'

export interface Lowering {
  /** The nodes that replace one, or undefined where it stays. */
  replace(node: NodeProto): NodeProto[] | undefined
  /** Constants that the replacements use. */
  constants: readonly TensorProto[]
}

const INT64 = 7
const LAST_AXIS: TensorProto = {
  name: 'lowered.last',
  elementType: INT64,
  shape: [1],
  raw: new Uint8Array(BigInt64Array.of(-1n).buffer),
}

/** ONNX Runtime 1.30's WebGPU provider has no LogSoftmax. The largest is taken out first, so that nothing overflows. */
export const WEBGPU: Lowering = {
  constants: [LAST_AXIS],
  replace({ op, inputs, outputs, attributes }) {
    if (op !== 'LogSoftmax' || attributes.axis !== -1) return undefined
    const [x, out] = [inputs[0]!, outputs[0]!]
    const name = (part: string): string => `${out}.${part}`
    const node = (op: string, inputs: string[], output: string, keepdims = false): NodeProto => ({
      op,
      domain: '',
      inputs,
      outputs: [output],
      attributes: keepdims ? { keepdims: 1 } : {},
    })
    return [
      node('ReduceMax', [x, LAST_AXIS.name], name('largest'), true),
      node('Sub', [x, name('largest')], name('shifted')),
      node('Exp', [name('shifted')], name('powers')),
      node('ReduceSum', [name('powers'), LAST_AXIS.name], name('sum'), true),
      node('Log', [name('sum')], name('log')),
      node('Sub', [name('shifted'), name('log')], out),
    ]
  },
}
