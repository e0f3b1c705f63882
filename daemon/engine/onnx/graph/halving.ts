// Products of matrices in float16, what lies between them in float32: mixed precision after Micikevicius et al.
// 2018 (arXiv:1710.03740). Weights come in float32 and are rounded within the graph, once a run; norms,
// softmax, log-probs, the residual stream and all sums but those within a product keep their 24 bits. What a
// product of the backward pass reads was rounded for the forward one, and is kept as that.

import type { Lowering } from './lowering.ts'
import type { NodeProto, TensorProto } from './proto.ts'

const FLOAT = 1
const INT64 = 7
const FLOAT16 = 10
const PRODUCTS = new Set(['Gemm', 'MatMul'])

export interface HalvingOptions {
  /**
   * The CPU's provider computes products in float32 and takes a cast to float16 and back for nothing: it would
   * leave no float16 at all. Something between the casts that it does in float16 keeps them.
   */
  keepCasts: boolean
}

/** For one graph: a value that several products read is rounded once. */
export function createHalving({ keepCasts }: HalvingOptions): Lowering {
  const rounded = new Set<string>()
  const constants = keepCasts ? [AXIS] : []
  const kept = (make: (out: string) => NodeProto, half: string): NodeProto[] => {
    rounded.add(half)
    if (!keepCasts) return [make(half)]
    return [
      make(`${half}.made`),
      node('Unsqueeze', [`${half}.made`, AXIS.name], `${half}.wide`),
      node('Squeeze', [`${half}.wide`, AXIS.name], half),
    ]
  }
  return (product) => {
    if (!PRODUCTS.has(product.op)) return undefined
    const nodes: NodeProto[] = []
    const inputs = product.inputs.map((input) => {
      const half = `${input}.half`
      if (!rounded.has(half)) nodes.push(...kept((out) => node('Cast', [input], out, { to: FLOAT16 }), half))
      return half
    })
    // A product that reads this one reads what it gave.
    const [out] = product.outputs
    nodes.push(...kept((made) => ({ ...product, inputs, outputs: [made] }), `${out}.half`))
    nodes.push(node('Cast', [`${out}.half`], out!, { to: FLOAT }))
    return { nodes, constants }
  }
}

/** One lowering after another. */
export function inTurn(first: Lowering | undefined, second: Lowering): Lowering {
  return (node, isUsed) => {
    const { nodes, constants } = first?.(node, isUsed) ?? { nodes: [node], constants: [] }
    const lowered = nodes.map((each) => second(each, isUsed) ?? { nodes: [each], constants: [] })
    return {
      nodes: lowered.flatMap(({ nodes }) => nodes),
      constants: [...constants, ...lowered.flatMap(({ constants }) => constants)],
    }
  }
}

const AXIS: TensorProto = {
  name: 'halving.axis',
  elementType: INT64,
  shape: [1],
  raw: new Uint8Array(BigInt64Array.of(0n).buffer),
}

function node(
  op: string,
  inputs: string[],
  output: string,
  attributes: NodeProto['attributes'] = {},
): NodeProto {
  return { op, domain: '', inputs, outputs: [output], attributes }
}
