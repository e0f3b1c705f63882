// Places on the device: one for each tensor of a model, or for values that go with the tensors, such as moments. An
// operation on all of them runs in parts. A part's small tensors are joined first, because a device takes as long to
// start an operation on a thousand numbers as on a million. Parts are small, because a device cannot write to a tensor
// that it reads, so each needs new ones.

import type { Weights } from '../../weights.ts'
import { type Dimension, plus, symbol } from '../graph/dimension.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { concat, slice, split } from '../graph/ops.ts'
import type { Feeds, Held, Runtime } from '../runtime/runtime.ts'

/** Numbers of a part, unless it has only one tensor. */
const MOST_NUMBERS = 1 << 20
/** Tensors that one operation can write: a device lets it use 8, and it reads one. */
const MOST_WRITTEN = 7
/** Tensors of a part. */
const MOST_TENSORS = MOST_WRITTEN ** 2

export type Shapes = ReadonlyMap<string, readonly number[]>
export type DeviceTensors = Readonly<Record<string, Held>>

/** Creates empty places, which count as zeros. */
export function createDeviceTensors(shapes: Shapes, runtime: Runtime): DeviceTensors {
  const size = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1)
  return Object.fromEntries([...shapes].map(([name, shape]) => [name, runtime.hold({ length: size(shape) })]))
}

/** Copies tensors, already checked against the shapes, to the device. */
export async function upload(tensors: DeviceTensors, values: Weights, runtime: Runtime): Promise<void> {
  for (const [name, tensor] of Object.entries(tensors)) await runtime.write(tensor, values[name]!)
}

export async function download(tensors: DeviceTensors, runtime: Runtime): Promise<Weights> {
  const values: Weights = {}
  for (const [name, tensor] of Object.entries(tensors)) values[name] = await runtime.read(tensor)
  return values
}

export function release(tensors: DeviceTensors): void {
  for (const tensor of Object.values(tensors)) tensor.release()
}

export interface Part {
  names: readonly string[]
  isDecayed: boolean
}

/** Groups names into parts. A part holds either only matrices, which get weight decay, or only vectors. */
export function partsOf(shapes: Shapes): Part[] {
  const size = (name: string): number => shapes.get(name)!.reduce((a, b) => a * b, 1)
  return [true, false].flatMap((isDecayed) => {
    const parts: string[][] = []
    let numbers = Infinity
    for (const name of shapes.keys()) {
      if (shapes.get(name)!.length > 1 !== isDecayed) continue
      numbers += size(name)
      if (numbers > MOST_NUMBERS || parts.at(-1)!.length === MOST_TENSORS) {
        parts.push([])
        numbers = size(name)
      }
      parts.at(-1)!.push(name)
    }
    return parts.map((names) => ({ names, isDecayed }))
  })
}

/** The inputs or outputs of a part's graph, named `<role>.0`, `<role>.1` and so on. */
export function fed(role: string, tensors: DeviceTensors, names: readonly string[]): Record<string, Held> {
  return Object.fromEntries(names.map((name, index) => [`${role}.${index}`, tensors[name]!]))
}

export interface PartBuilder {
  graph: Graph
  /** The part's values in this role, tensor by tensor as flat lists. */
  arrays(role: string): readonly Value[]
  /** The same, joined. */
  joined(role: string): Value
  /** One number for the whole part, [1]. */
  scalar(name: string): Value
  /** Joined values, as the role's tensors. */
  output(role: string, value: Value): void
}

/** Runs the graph that `build` makes for each part in turn. */
export async function overParts(
  name: string,
  { parts, roles, into = {}, scalars = () => ({}) }: PartRun,
  build: (at: PartBuilder) => void,
  runtime: Runtime,
): Promise<Record<string, Float32Array>[]> {
  const results: Record<string, Float32Array>[] = []
  for (const part of parts) {
    const { names } = part
    const compiled = await runtime.compile(`${name} ${names.length}`, () =>
      buildPart(name, names.length, build),
    )
    const feeds: Feeds = { ...scalars(part) }
    for (const [role, tensors] of Object.entries(roles)) Object.assign(feeds, fed(role, tensors, names))
    const targets: Record<string, Held> = {}
    for (const [role, tensors] of Object.entries(into)) Object.assign(targets, fed(role, tensors, names))
    const sizes = names.map((name, index) => [
      `length${index}`,
      (Object.values(roles)[0]![name] as Held).length,
    ])
    results.push(await compiled.run(feeds, Object.fromEntries(sizes), targets))
  }
  return results
}

export interface PartRun {
  parts: readonly Part[]
  roles: Record<string, DeviceTensors>
  into?: Record<string, DeviceTensors>
  scalars?: (part: Part) => Record<string, Float32Array>
}

function buildPart(name: string, count: number, build: (at: PartBuilder) => void): Graph {
  const graph = new Graph(name)
  const lengths = Array.from({ length: count }, (_, index) => symbol(`length${index}`))
  const once = <T>(make: (name: string) => T): ((name: string) => T) => {
    const made = new Map<string, T>()
    return (name) => {
      const value = made.get(name) ?? make(name)
      made.set(name, value)
      return value
    }
  }
  const arrays = once((role) => lengths.map((length, i) => graph.input(`${role}.${i}`, 'float32', [length])))
  build({
    graph,
    arrays,
    joined: once((role) => concat(arrays(role), 0)),
    scalar: once((name) => graph.input(name, 'float32', [1])),
    output(role, value) {
      let start: Dimension = 0
      for (let i = 0; i < count; i += MOST_WRITTEN) {
        const some = lengths.slice(i, i + MOST_WRITTEN)
        const end = plus(start, ...some)
        split(slice(value, 0, start, end), 0, some).forEach((tensor, at) => {
          graph.output(`${role}.${i + at}`, tensor)
        })
        start = end
      }
    },
  })
  return graph
}

/** Numbers in the form in which graphs take inputs. */
export function numbers(values: Record<string, number>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Float32Array.of(value)]))
}
