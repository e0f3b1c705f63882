// Compiled graphs: a bounded cache of ONNX Runtime sessions, and tensors over typed arrays or held on the device.

import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { WaggleError } from '../../../../protocol/errors.ts'
import { loadOnnxruntime } from '../../../platform/onnxruntime.ts'
import { type Bindings, boundSize, symbol } from '../graph/dimension.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { createHalving, inTurn } from '../graph/halving.ts'
import { weightsFirst } from '../graph/weights-first.ts'
import { engineError } from './failure.ts'
import { Held, type HeldMemory, type HeldOptions } from './held.ts'
import { PROVIDERS, type Provider } from './provider.ts'

export type Data = Float32Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array
/** What a graph can be fed with, by input name. */
export type Feeds = Record<string, Data | Held>
export { Held }

const ort = loadOnnxruntime()

interface RuntimeOptions {
  /** Threads that one operation may use. */
  threads: number
  /** Most compiled graphs kept; the least recently used one is closed first. Each holds its plan and work memory. */
  maxSessions: number
  /** The CPU's if left out. */
  provider?: Provider
  /** Sessions pool memory that a run has freed for the next run; true if left out. */
  keepsMemory?: boolean
  /** Keep parameters on the device. If left out, this is done wherever the provider supports it. */
  keepsOnDevice?: boolean
}

export interface CompiledGraph {
  /**
   * Runs the graph with these sizes. `into` names arrays to write outputs to, or places on the device to leave them in;
   * such outputs are not among the results. Throws E_ENGINE on any failure.
   */
  run(
    feeds: Feeds,
    sizes?: Bindings,
    into?: Record<string, Float32Array | Held>,
  ): Promise<Record<string, Float32Array>>
}

export interface Runtime {
  readonly options: RuntimeOptions
  readonly keepsOnDevice: boolean
  /** The compiled graph for a key. It is built and compiled on first use. */
  compile(key: string, build: () => Graph, options?: CompileOptions): Promise<CompiledGraph>
  has(key: string): boolean
  /** Closes a compiled graph, if there is one. */
  drop(key: string): Promise<void>
  readonly compiled: number
  /** Creates a place on the device. */
  hold(options: HeldOptions): Held
  write(target: Held, values: Float32Array | Held): Promise<void>
  /** A copy of a place's content. */
  read(target: Held): Promise<Float32Array>
  /** Memory currently held by all places. */
  readonly held: Readonly<HeldMemory>
  close(): Promise<void>
}

interface CompileOptions {
  /** Run on the CPU whatever the provider is, directly on the host's arrays. */
  onHost?: boolean
  /** Matrix products in float16; see `halving.ts`. */
  isHalf?: boolean
  /** The graph's products have few rows; see `weights-first.ts`. */
  hasFewRows?: boolean
  /** The content of the graph's fixed inputs. Other content needs another key. */
  fixed?: Feeds
}

export function createRuntime(options: RuntimeOptions): Runtime {
  // CUDA's products would have 10 bits of mantissa. The library reads this when its first session is made.
  if (options.provider === 'cuda') process.env.NVIDIA_TF32_OVERRIDE ??= '0'
  const cache = new Map<string, { graph: CompiledGraph; release(): Promise<void> }>()
  const held: HeldMemory = { count: 0, bytes: 0 }
  let compiled = 0

  const hold = (options: HeldOptions): Held => new Held(options, held)
  const write = async (target: Held, values: Float32Array | Held): Promise<void> => {
    const graph = await compile('copy', buildCopy)
    await graph.run({ from: values }, { length: values.length }, { to: target })
  }
  const upload = async (values: Float32Array): Promise<Held> => {
    const target = hold({ length: values.length })
    await write(target, values)
    return target
  }

  const compile = async (
    key: string,
    build: () => Graph,
    { onHost = false, isHalf = false, hasFewRows = false, fixed = {} }: CompileOptions = {},
  ): Promise<CompiledGraph> => {
    const known = cache.get(key)
    if (known) {
      cache.delete(key)
      cache.set(key, known)
      return known.graph
    }
    const graph = build()
    const made = await wrap(
      graph,
      { ...options, isHalf, hasFewRows, fixed, ...(onHost ? { provider: 'cpu' } : {}) },
      upload,
    )
    compiled += 1
    cache.set(key, made)
    if (cache.size > options.maxSessions) {
      const [oldest, evicted] = cache.entries().next().value!
      cache.delete(oldest)
      await evicted.release()
    }
    return made.graph
  }

  return {
    options,
    keepsOnDevice: options.keepsOnDevice ?? PROVIDERS[options.provider ?? 'cpu'].heldIn !== 'cpu',
    compile,
    has: (key) => cache.has(key),
    async drop(key) {
      const known = cache.get(key)
      cache.delete(key)
      await known?.release()
    },
    get compiled() {
      return compiled
    },
    hold,
    write,
    async read(target) {
      // A copy, because the runtime may return its own memory.
      if (!target.content) return new Float32Array(target.length)
      const graph = await compile('copy', buildCopy)
      return (await graph.run({ from: target }, { length: target.length })).to!
    },
    held,
    async close() {
      for (const { release } of cache.values()) await release()
      cache.clear()
    },
  }
}

function buildCopy(): Graph {
  const graph = new Graph('copy')
  graph.output('to', graph.input('from', 'float32', [symbol('length')]))
  return graph
}

type SessionOptions = RuntimeOptions & Required<Pick<CompileOptions, 'isHalf' | 'hasFewRows' | 'fixed'>>

async function createSession(
  graph: Graph,
  { threads, provider = 'cpu', keepsMemory = true, isHalf, hasFewRows, fixed }: SessionOptions,
  staying: readonly string[],
): Promise<InferenceSession> {
  const { executionProviders, lowering: ofProvider, heldIn } = PROVIDERS[provider]
  const lowering = hasFewRows && provider === 'cpu' ? weightsFirst : ofProvider
  try {
    const lowered = isHalf ? inTurn(lowering, createHalving({ keepCasts: provider === 'cpu' })) : lowering
    return await ort.InferenceSession.create(graph.encode(lowered), {
      executionProviders,
      externalData: graph.fixedInputs.map((value) => ({ path: value.name, data: contentOf(value, fixed) })),
      ...(heldIn === 'cpu' || staying.length === 0
        ? {}
        : { preferredOutputLocation: Object.fromEntries(staying.map((name) => [name, heldIn])) }),
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      // Off, because it keeps a memory plan for every combination of sizes forever. The arena reuses memory well
      // without one.
      enableMemPattern: false,
      enableCpuMemArena: keepsMemory,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      logSeverityLevel: 3,
      // Threads wait for each other within an operation by spinning, which is 10 to 20 % faster on small models. This
      // is safe because the daemon's engines have no more threads than there are cores. Between runs threads sleep.
      extra: { session: { intra_op: { allow_spinning: '1' }, force_spinning_stop: '1' } },
    })
  } catch (cause) {
    throw engineError(`the runtime refused the graph "${graph.name}"`, cause)
  }
}

/** The bytes of a fixed input. */
function contentOf(value: Value, fixed: Feeds): Uint8Array {
  const data = fixed[value.name]
  if (!data || data instanceof Held)
    throw new WaggleError('E_ENGINE', `fixed input "${value.name}" has no content`)
  checkLength(value, data, value.shape as readonly number[])
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

/** Consecutive runs tend to have the same sizes, so the last few sets of computed inputs are kept. */
const KEPT_SIZES = 16

async function wrap(
  graph: Graph,
  options: SessionOptions,
  upload: (values: Float32Array) => Promise<Held>,
): Promise<{ graph: CompiledGraph; release(): Promise<void> }> {
  const declared = new Map(
    [...graph.inputs, ...graph.computed.map(({ value }) => value)].map((input) => [input.name, input]),
  )
  const inputs = new Map([...declared].map(([name, value]) => [name, tensorMaker(value)]))
  const outputs = new Map(graph.outputs.map(({ name, value }) => [name, value]))
  const computedFor = new Map<string, Record<string, Tensor | Held>>()
  /** Sessions by the outputs that stay on the device, because these are fixed when a session is created. */
  const sessions = new Map<string, InferenceSession>()
  const sessionFor = async (staying: readonly string[]): Promise<InferenceSession> => {
    const key = staying.join()
    const session = sessions.get(key) ?? (await createSession(graph, options, staying))
    sessions.set(key, session)
    return session
  }
  const { heldIn } = PROVIDERS[options.provider ?? 'cpu']
  // On the CPU there is only one session. Creating it now reports an invalid graph early.
  if (heldIn === 'cpu') await sessionFor([])

  /** The computed inputs for these sizes. Float inputs are copied to the device once; shapes are read on the host. */
  const computed = async (sizes: Bindings): Promise<Record<string, Tensor | Held>> => {
    const key = JSON.stringify(sizes)
    const done = computedFor.get(key)
    if (done) return done
    const made: Record<string, Tensor | Held> = {}
    for (const { value, compute } of graph.computed) {
      const data = compute(sizes)
      const stays = heldIn !== 'cpu' && data instanceof Float32Array
      made[value.name] = stays ? await upload(data) : tensorOf(value, data, sizes)
    }
    if (computedFor.size >= KEPT_SIZES) forget(computedFor.keys().next().value!)
    computedFor.set(key, made)
    return made
  }
  const forget = (key: string): void => {
    for (const data of Object.values(computedFor.get(key)!)) if (data instanceof Held) data.release()
    computedFor.delete(key)
  }

  const run: CompiledGraph['run'] = async (feeds, sizes = {}, into = {}) => {
    const turned = turning(into)
    const session = await sessionFor(
      heldIn === 'cpu'
        ? []
        : [...outputs.keys()].filter((name) => into[name] instanceof Held && !turned.has(into[name])),
    )
    const known = await computed(sizes)
    const tensors: Record<string, Tensor> = {}
    for (const name of session.inputNames) {
      const ready = known[name]
      const data = ready instanceof Held ? ready : feeds[name]
      if (ready && !(ready instanceof Held)) tensors[name] = ready
      else if (data) tensors[name] = inputs.get(name)!(data, sizes)
      else throw new WaggleError('E_ENGINE', `graph "${graph.name}" needs input "${name}"`)
    }
    const fetches: Record<string, Tensor | null> = {}
    for (const name of session.outputNames) {
      const [value, target] = [outputs.get(name)!, into[name]]
      if (!(target instanceof Held)) fetches[name] = target ? tensorOf(value, target, sizes) : null
      else fetches[name] = turned.has(target) ? shaped(target.spare!, dimsOf(value, target, sizes)) : null
    }
    let results: Record<string, Tensor>
    try {
      results = (await session.run(tensors, fetches)) as Record<string, Tensor>
    } catch (cause) {
      throw engineError(`graph "${graph.name}" failed`, cause)
    }
    const data: Record<string, Float32Array> = {}
    for (const name of session.outputNames) {
      const target = into[name]
      if (target instanceof Held) keep(target, results[name]!, turned)
      else data[name] = target ?? (results[name]!.data as Float32Array)
    }
    return data
  }

  return {
    graph: { run },
    async release() {
      for (const key of [...computedFor.keys()]) forget(key)
      for (const session of sessions.values()) await session.release()
      sessions.clear()
    },
  }
}

/**
 * The places whose spare tensors a run writes: all, if each has one. Once a session leaves any output on the device by itself,
 * the binding of 1.30 takes no tensor for another.
 */
function turning(into: Record<string, Float32Array | Held>): ReadonlySet<unknown> {
  const places = Object.values(into).filter((target) => target instanceof Held)
  return new Set(places.every(({ spare }) => spare) ? places : [])
}

function keep(place: Held, result: Tensor, turned: ReadonlySet<unknown>): void {
  if (turned.has(place)) {
    // The binding wraps the spare tensor's memory once more.
    if (result !== place.spare) result.dispose()
    place.turn()
  } else place.put(result)
}

function checkLength({ name }: Value, { length }: Data | Held, dims: readonly number[]): void {
  if (length !== dims.reduce((a, b) => a * b, 1))
    throw new WaggleError('E_ENGINE', `"${name}" has ${length} elements, its shape is [${dims}]`)
}

function dimsOf(value: Value, data: Data | Held, sizes: Bindings): number[] {
  const dims = value.shape.map((size) => boundSize(size, sizes))
  checkLength(value, data, dims)
  return dims
}

/**
 * Like `tensorOf`, but reuses an array's tensor: making hundreds of tensors takes longer than running a small graph.
 */
function tensorMaker(value: Value): (data: Data | Held, sizes: Bindings) => Tensor {
  const made = new WeakMap<Data, Tensor>()
  return (data, sizes) => {
    if (data instanceof Held) return tensorOf(value, data, sizes)
    const known = made.get(data)
    if (known?.dims.every((size, axis) => size === boundSize(value.shape[axis]!, sizes))) return known
    const tensor = tensorOf(value, data, sizes)
    made.set(data, tensor)
    return tensor
  }
}

function tensorOf(value: Value, data: Data | Held, sizes: Bindings): Tensor {
  const dims = dimsOf(value, data, sizes)
  if (!(data instanceof Held)) {
    if (value.dtype === 'float16') return halvesTensor(data as Uint16Array, dims)
    return new ort.Tensor(value.dtype as 'float32', data as Float32Array, dims)
  }
  const { content } = data
  return content ? shaped(content, dims) : new ort.Tensor('float32', new Float32Array(data.length), dims)
}

/** The same memory with this shape. */
function shaped(tensor: Tensor, dims: number[]): Tensor {
  if (tensor.dims.join() === dims.join()) return tensor
  return tensor.location === 'gpu-buffer'
    ? ort.Tensor.fromGpuBuffer(tensor.gpuBuffer, { dataType: 'float32', dims })
    : new ort.Tensor('float32', tensor.data as Float32Array, dims)
}

/** If JavaScript has Float16Array, `Tensor` insists on one, but the binding of 1.30 then reads an empty array. */
function halvesTensor(halves: Uint16Array, dims: readonly number[]): Tensor {
  return Object.assign(new ort.Tensor('uint16', halves, dims) as Tensor, { type: 'float16' })
}
