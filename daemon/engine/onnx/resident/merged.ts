// An adapter's matrices merged into those beside which they stand, W + alpha / rank * B A, for sampling on a device: a
// step then has one product for each matrix instead of three. On a device, a step of few sequences takes about as long as
// the processor needs to start its operations, however small they are. The merged matrices take as
// much of the device's memory again as those of the model.

import type { Tensor } from 'onnxruntime-node'
import { adapterNames, adapterShapes, type DecoderSpec, parameterShapes } from '../../decoder.ts'
import { Graph } from '../graph/graph.ts'
import { gemm } from '../graph/ops.ts'
import type { Held } from '../runtime/held.ts'
import type { Feeds, Runtime } from '../runtime/runtime.ts'
import { release } from './device-tensors.ts'

export interface Merged {
  /** The model without its adapter. */
  spec: DecoderSpec
  /** Its parameters. They are merged again whenever a tensor of the adapter has changed. */
  parameters(weights: Feeds): Promise<Feeds>
  release(): void
}

/** Undefined for a model without an adapter. */
export function createMerged(spec: DecoderSpec, runtime: Runtime): Merged | undefined {
  const { adapter, ...plain } = spec
  if (!adapter) return undefined
  const layers = adaptedByLayer(spec)
  const trained = [...adapterShapes(spec).keys()]
  const tensors: Record<string, Held> = {}
  let mergedFrom: readonly (Tensor | undefined)[] | undefined

  const merge = async (names: readonly string[], weights: Feeds): Promise<void> => {
    const graph = await runtime.compile('merge', () => buildMerge(spec, names))
    const feeds = names.flatMap((name, i) => {
      const { a, b } = adapterNames(name)
      return [
        [`w.${i}`, weights[name]!],
        [`a.${i}`, weights[a]!],
        [`b.${i}`, weights[b]!],
      ] as const
    })
    for (const name of names) {
      const { length } = weights[name] as Held
      tensors[name] ??= runtime.hold({ length })
    }
    const into = names.map((name, i) => [`merged.${i}`, tensors[name]!] as const)
    await graph.run(Object.fromEntries(feeds), {}, Object.fromEntries(into))
  }

  return {
    spec: plain,
    async parameters(weights) {
      const found = trained.map((name) => (weights[name] as Held).content)
      if (!mergedFrom || found.some((tensor, i) => tensor !== mergedFrom![i])) {
        for (const names of layers) await merge(names, weights)
        mergedFrom = found
      }
      return { ...weights, ...tensors }
    },
    release() {
      release(tensors)
      mergedFrom = undefined
    },
  }
}

/** The names of the matrices with an adapter. All layers have the same ones, in the same order. */
function adaptedByLayer(spec: DecoderSpec): string[][] {
  const adapters = adapterShapes(spec)
  const names = [...parameterShapes(spec).keys()].filter((name) => adapters.has(adapterNames(name).a))
  return [...Map.groupBy(names, (name) => /\d+/.exec(name)![0]).values()]
}

/**
 * Inputs, for each matrix i of a layer: `w.i` [out, in], `a.i` [rank, in], `b.i` [out, rank]. Outputs: `merged.i`
 * [out, in].
 */
function buildMerge(spec: DecoderSpec, names: readonly string[]): Graph {
  const { alpha, rank } = spec.adapter!
  const shapes = parameterShapes(spec)
  const graph = new Graph('merge')
  names.forEach((name, i) => {
    const [out, wide] = shapes.get(name)! as [number, number]
    const plus = graph.input(`w.${i}`, 'float32', [out, wide])
    const a = graph.input(`a.${i}`, 'float32', [rank, wide])
    const b = graph.input(`b.${i}`, 'float32', [out, rank])
    graph.output(`merged.${i}`, gemm(b, a, { scale: alpha / rank, plus }))
  })
  return graph
}
