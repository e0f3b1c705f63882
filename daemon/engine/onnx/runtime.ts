// Compiled graphs: a bounded cache of ONNX Runtime sessions, and tensors over typed arrays.

import { InferenceSession, Tensor } from 'onnxruntime-node'
import { WaggleError } from '../../../protocol/errors.ts'
import { type Bindings, boundSize } from './dimension.ts'
import type { Graph, Value } from './graph.ts'

export type Data = Float32Array | Int32Array | BigInt64Array
export { Tensor }

export interface RuntimeOptions {
  /** Threads that one operation may use. */
  threads: number
  /** Sessions kept; the least recently used one goes. Each holds its plan and work memory. */
  maxSessions: number
}

export interface CompiledGraph {
  /**
   * Runs with given sizes; `into` gives arrays to write outputs to. Throws E_ENGINE on any failure.
   */
  run(
    feeds: Record<string, Data>,
    sizes?: Bindings,
    into?: Record<string, Float32Array>,
  ): Promise<Record<string, Float32Array>>
}

export interface Runtime {
  readonly options: RuntimeOptions
  /** The compiled graph for a key, built and compiled when it is new. */
  compile(key: string, build: () => Graph): Promise<CompiledGraph>
  readonly compiled: number
  close(): Promise<void>
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const cache = new Map<string, { graph: CompiledGraph; session: InferenceSession }>()
  let compiled = 0

  const compile = async (key: string, build: () => Graph): Promise<CompiledGraph> => {
    const known = cache.get(key)
    if (known) {
      cache.delete(key)
      cache.set(key, known)
      return known.graph
    }
    const graph = build()
    const session = await createSession(graph, options)
    compiled += 1
    const entry = { graph: wrap(graph, session), session }
    cache.set(key, entry)
    if (cache.size > options.maxSessions) {
      const [oldest, evicted] = cache.entries().next().value!
      cache.delete(oldest)
      await evicted.session.release()
    }
    return entry.graph
  }

  return {
    options,
    compile,
    get compiled() {
      return compiled
    },
    async close() {
      for (const { session } of cache.values()) await session.release()
      cache.clear()
    },
  }
}

async function createSession(graph: Graph, { threads }: RuntimeOptions): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(graph.encode(), {
      executionProviders: ['cpu'],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      // A plan of memory for every combination of sizes would be kept for ever; the arena reuses memory well without.
      enableMemPattern: false,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      logSeverityLevel: 3,
      // Two engines and the daemon share the cores: a thread that waits must not burn one.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
  } catch (cause) {
    throw new WaggleError('E_ENGINE', `the runtime refused the graph "${graph.name}": ${firstLine(cause)}`, {
      cause,
    })
  }
}

/** Runs of the same sizes follow one another, so the last few sets of computed inputs are kept. */
const KEPT_SIZES = 16

function wrap(graph: Graph, session: InferenceSession): CompiledGraph {
  const declared = new Map(graph.inputs.map((input) => [input.name, input]))
  const outputs = new Map(graph.outputs.map(({ name, value }) => [name, value]))
  const computedFor = new Map<string, Record<string, Tensor>>()

  const computed = (sizes: Bindings): Record<string, Tensor> => {
    const key = JSON.stringify(sizes)
    let tensors = computedFor.get(key)
    if (!tensors) {
      tensors = {}
      for (const { value, compute } of graph.computed)
        tensors[value.name] = tensorOf(value, compute(sizes), sizes)
      if (computedFor.size >= KEPT_SIZES) computedFor.delete(computedFor.keys().next().value!)
      computedFor.set(key, tensors)
    }
    return tensors
  }

  return {
    async run(feeds, sizes = {}, into = {}) {
      const known = computed(sizes)
      const tensors: Record<string, Tensor> = {}
      for (const name of session.inputNames) {
        const made = known[name]
        const data = feeds[name]
        if (made) tensors[name] = made
        else if (data) tensors[name] = tensorOf(declared.get(name)!, data, sizes)
        else throw new WaggleError('E_ENGINE', `graph "${graph.name}" needs input "${name}"`)
      }
      const fetches: Record<string, Tensor | null> = {}
      for (const name of session.outputNames) {
        const target = into[name]
        fetches[name] = target ? tensorOf(outputs.get(name)!, target, sizes) : null
      }
      try {
        const results = await session.run(tensors, fetches)
        const data: Record<string, Float32Array> = {}
        for (const name of session.outputNames)
          data[name] = into[name] ?? (results[name]!.data as Float32Array)
        return data
      } catch (cause) {
        throw new WaggleError('E_ENGINE', `graph "${graph.name}" failed: ${firstLine(cause)}`, { cause })
      }
    },
  }
}

function tensorOf({ name, dtype, shape }: Value, data: Data, sizes: Bindings): Tensor {
  const dims = shape.map((size) => boundSize(size, sizes))
  if (data.length !== dims.reduce((a, b) => a * b, 1)) {
    throw new WaggleError('E_ENGINE', `"${name}" has ${data.length} elements, its shape is [${dims}]`)
  }
  return new Tensor(dtype as 'float32', data as Float32Array, dims)
}

function firstLine(cause: unknown): string {
  return String(cause instanceof Error ? cause.message : cause).split('\n')[0] ?? ''
}
