// Places on the device: one for each tensor of a model, or for values that go with the tensors, such as moments. An
// operation on all of them runs in parts of several tensors each. This needs few calls, and few new tensors at a time;
// the latter matters because a device cannot write to a tensor that it reads.

import type { Weights } from '../../weights.ts'
import { symbol } from '../graph/dimension.ts'
import { Graph, type Value } from '../graph/graph.ts'
import type { Feeds, Held, Runtime } from '../runtime/runtime.ts'

/** Tensors per part. */
const PART = 16

export type Shapes = ReadonlyMap<string, readonly number[]>
export type DeviceTensors = Readonly<Record<string, Held>>

/** Creates empty places, which count as zeros. */
export function createDeviceTensors(shapes: Shapes, runtime: Runtime): DeviceTensors {
  const size = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1)
  return Object.fromEntries([...shapes].map(([name, shape]) => [name, runtime.hold(size(shape))]))
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

/** Groups names into parts. A part holds either only matrices, which get weight decay, or only vectors. */
export function partsOf(shapes: Shapes): { names: string[]; isDecayed: boolean }[] {
  return [true, false].flatMap((isDecayed) => {
    const names = [...shapes.keys()].filter((name) => shapes.get(name)!.length > 1 === isDecayed)
    const count = Math.ceil(names.length / PART)
    return Array.from({ length: count }, (_, i) => ({
      names: names.slice(i * PART, (i + 1) * PART),
      isDecayed,
    }))
  })
}

/** The inputs or outputs of a part's graph, named `<role>.0`, `<role>.1` and so on. */
export function fed(role: string, tensors: DeviceTensors, names: readonly string[]): Record<string, Held> {
  return Object.fromEntries(names.map((name, index) => [`${role}.${index}`, tensors[name]!]))
}

export interface PartBuilder {
  graph: Graph
  /** The values of the part's current tensor in this role, as a flat list. */
  array(role: string): Value
  /** One number for the whole part, [1]. */
  scalar(name: string): Value
  output(role: string, value: Value): void
}

/**
 * Runs one graph for each part in turn. `build` computes something for each tensor; `finish` gets all results of a
 * part.
 */
export async function overParts<Found>(
  name: string,
  { parts, roles, into = {}, scalars = () => ({}) }: PartRun,
  { build, finish }: { build: (at: PartBuilder) => Found; finish?: (graph: Graph, found: Found[]) => void },
  runtime: Runtime,
): Promise<Record<string, Float32Array>[]> {
  const results: Record<string, Float32Array>[] = []
  for (const part of parts) {
    const { names } = part
    const compiled = await runtime.compile(`${name} ${names.length}`, () =>
      buildPart(name, names.length, build, finish),
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
  parts: readonly { names: readonly string[]; isDecayed: boolean }[]
  roles: Record<string, DeviceTensors>
  into?: Record<string, DeviceTensors>
  scalars?: (part: { isDecayed: boolean }) => Record<string, Float32Array>
}

function buildPart<Found>(
  name: string,
  count: number,
  build: (at: PartBuilder) => Found,
  finish?: (graph: Graph, found: Found[]) => void,
): Graph {
  const graph = new Graph(name)
  const scalars = new Map<string, Value>()
  const scalar = (name: string): Value => {
    const value = scalars.get(name) ?? graph.input(name, 'float32', [1])
    scalars.set(name, value)
    return value
  }
  const found = Array.from({ length: count }, (_, index) =>
    build({
      graph,
      scalar,
      array: (role) => graph.input(`${role}.${index}`, 'float32', [symbol(`length${index}`)]),
      output: (role, value) => graph.output(`${role}.${index}`, value),
    }),
  )
  finish?.(graph, found)
  return graph
}

/** Numbers in the form in which graphs take inputs. */
export function numbers(values: Record<string, number>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Float32Array.of(value)]))
}
