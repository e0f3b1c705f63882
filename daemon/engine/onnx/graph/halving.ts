// Mixed precision after Micikevicius et al. 2018 (arXiv:1710.03740): matrix products in float16, everything between
// them in float32. Weights arrive in float32 and are rounded within the graph, once per run. Norms, softmax, log-probs,
// the residual stream and all sums except those inside a product keep their 24 bits. Values that the forward pass has
// already rounded for a product are reused in float16 by the backward pass.

import { type Lowering, node } from './lowering.ts'
import type { NodeProto, TensorProto } from './proto.ts'

const FLOAT = 1
const INT64 = 7
const FLOAT16 = 10
const PRODUCTS = new Set(['Gemm', 'MatMul'])

interface HalvingOptions {
  /**
   * The CPU provider computes products in float32 and removes pairs of casts to float16 and back, so nothing would be
   * rounded to float16. An operation between the casts, which it does in float16, prevents that.
   */
  keepCasts: boolean
}

/** The halving of one graph. A value that several products read is rounded once. */
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
  return ({ inputs: [a, b, plus], ...product }) => {
    if (!PRODUCTS.has(product.op)) return undefined
    const nodes: NodeProto[] = []
    const inputs = [a!, b!].map((input) => {
      const half = `${input}.half`
      if (!rounded.has(half)) nodes.push(...kept((out) => node('Cast', [input], out, { to: FLOAT16 }), half))
      return half
    })
    // Products that read this one use its float16 output directly.
    const [sum] = product.outputs
    const out = plus ? `${sum}.product` : sum!
    nodes.push(...kept((made) => ({ ...product, inputs, outputs: [made] }), `${out}.half`))
    nodes.push(node('Cast', [`${out}.half`], out, { to: FLOAT }))
    if (plus) nodes.push(node('Add', [out, plus], sum!))
    return { nodes, constants }
  }
}

/** Applies several lowerings in turn. */
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
