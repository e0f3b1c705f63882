// A graph under construction: named values with shapes, nodes, constants, and a tape for differentiation.
//
// Shapes may contain symbols (`dimension.ts`). They are checked while the graph is built, so a mistake is reported with
// the operation's name and shapes instead of by the runtime. The graph does not know what operations mean: `ops.ts`
// does, and `autodiff.ts` walks the tape.

import { WaggleError } from '../../../../protocol/errors.ts'
import {
  type Bindings,
  boundSize,
  type Dimension,
  dependsOn,
  sameDimension,
  showDimension,
  times,
} from './dimension.ts'
import type { Lowering } from './lowering.ts'
import {
  type AttributeValue,
  encodeModel,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from './proto.ts'

const ELEMENT_TYPES = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9, float16: 10 } as const
type DType = keyof typeof ELEMENT_TYPES

/** Opset 18 is the first in which every Reduce operation takes its axes as an input. */
const OPSET = 18

export type Shape = readonly Dimension[]

export interface Value {
  readonly graph: Graph
  readonly name: string
  readonly dtype: DType
  readonly shape: Shape
}

/** Computes the gradients of a node's inputs from those of its outputs; undefined where no gradient flows. */
type VectorJacobian = (outputGradients: readonly (Value | undefined)[]) => (Value | undefined)[]

export interface TapeEntry {
  inputs: readonly Value[]
  outputs: readonly Value[]
  vectorJacobian: VectorJacobian
}

export function sizeOf(shape: Shape): Dimension {
  return times(...shape)
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((size, i) => sameDimension(size, b[i]!))
}

export function showSizes(shape: Shape): string {
  return shape.map(showDimension).join(',')
}

/** A size that must be a number while the graph is built, such as the width of a layer. */
export function fixed(
  operation: string,
  size: Dimension,
  ...values: { dtype: DType; shape: Shape }[]
): number {
  if (typeof size !== 'number')
    refuse(operation, `size ${showDimension(size)} must be a plain number`, ...values)
  return size
}

function showShape(value: { dtype: DType; shape: Shape }): string {
  return `${value.dtype}[${showSizes(value.shape)}]`
}

/** The error for an operation that cannot be built. */
export function refuse(operation: string, why: string, ...values: { dtype: DType; shape: Shape }[]): never {
  const shapes = values.map(showShape).join(', ')
  throw new WaggleError('E_ENGINE', `${operation}(${shapes}): ${why}`, { data: { operation, shapes } })
}

function infoOf(value: Value, { name = value.name, show = showDimension } = {}): ValueInfoProto {
  return {
    name,
    elementType: ELEMENT_TYPES[value.dtype],
    shape: value.shape.map((size) => (typeof size === 'number' ? size : show(size))),
  }
}

/** An input computed from the sizes of each run, such as a shape for Reshape or a mask that depends on lengths. */
interface ComputedInput {
  value: Value
  compute(bindings: Bindings): Float32Array | BigInt64Array
}

export class Graph {
  readonly name: string
  readonly tape: TapeEntry[] = []
  private readonly nodes: NodeProto[] = []
  private readonly initializers: TensorProto[] = []
  private readonly constants = new Map<string, Value>()
  private readonly computedInputs = new Map<string, ComputedInput>()
  private readonly inputValues: Value[] = []
  private readonly fixedValues: Value[] = []
  private readonly outputValues: { name: string; value: Value }[] = []
  /** Node outputs by name. */
  private readonly made = new Map<string, Value>()
  private readonly unplanned = new Set<string>()
  private readonly unplannedValues = new Set<string>()
  /** The part that values belong to, by their names. */
  private readonly partOf = new Map<string, number>()
  private part: number | undefined
  private parts = 0
  private counter = 0

  constructor(name: string) {
    this.name = name
  }

  get nodeCount(): number {
    return this.nodes.length
  }

  get inputs(): readonly Value[] {
    return this.inputValues
  }

  /** Inputs whose content is given once, when the graph is compiled. */
  get fixedInputs(): readonly Value[] {
    return this.fixedValues
  }

  /** Inputs that are computed from the sizes of each run. */
  get computed(): readonly ComputedInput[] {
    return [...this.computedInputs.values()]
  }

  get outputs(): readonly { name: string; value: Value }[] {
    return this.outputValues
  }

  private value(name: string, dtype: DType, shape: Shape): Value {
    for (const size of shape) {
      if (typeof size === 'number' && (!Number.isInteger(size) || size < 0)) {
        refuse(name, 'sizes must be whole numbers', { dtype, shape })
      }
    }
    return { graph: this, name, dtype, shape }
  }

  input(name: string, dtype: DType, shape: Shape): Value {
    const value = this.value(name, dtype, shape)
    this.inputValues.push(value)
    return value
  }

  /** An input with the same content in every run. The runtime may keep it in a layout of its own. */
  fixedInput(name: string, dtype: DType, shape: readonly number[]): Value {
    const value = this.value(name, dtype, shape)
    this.fixedValues.push(value)
    return value
  }

  output(name: string, value: Value): void {
    // Each output needs its own name. If the value is a graph input, or already an output under another name, an
    // Identity node gives it one. That costs a copy, usually of a small tensor.
    this.outputValues.push({ name, value })
  }

  /**
   * Hides from the runtime which sizes are equal if they depend on this symbol. The runtime reuses an array for the
   * next one of the same named size and may hold it until the end of the run. That saves time, but takes too much
   * memory for large arrays.
   */
  leaveUnplanned(symbol: string): void {
    this.unplanned.add(symbol)
  }

  /** Sizes that are hidden by `leaveUnplanned` are equal within what is built here: there the runtime computes in place. */
  inPart<Built>(build: () => Built): Built {
    const outer = this.part
    this.part = this.parts++
    try {
      return build()
    } finally {
      this.part = outer
    }
  }

  /** As `node`, and the sizes of its outputs are not named, as in `leaveUnplanned`. */
  unplannedNode(...[op, inputs, outputs, attributes, domain]: Parameters<Graph['node']>): Value[] {
    const values = this.node(op, inputs, outputs, attributes, domain)
    for (const { name } of values) this.unplannedValues.add(name)
    return values
  }

  /** Adds a node without recording it on the tape; operations record it together with their gradient rule. */
  node(
    op: string,
    inputs: readonly (Value | undefined)[],
    outputs: readonly { dtype: DType; shape: Shape }[],
    attributes: Readonly<Record<string, AttributeValue>> = {},
    domain = '',
  ): Value[] {
    const values = outputs.map((out) => this.value(`v${this.counter++}`, out.dtype, out.shape))
    for (const value of values) {
      this.made.set(value.name, value)
      if (this.part !== undefined) this.partOf.set(value.name, this.part)
    }
    this.nodes.push({
      op,
      domain,
      inputs: inputs.map((input) => input?.name ?? ''),
      outputs: values.map((value) => value.name),
      attributes,
    })
    return values
  }

  /** A constant. Equal constants are created once. */
  constant(data: Float32Array | Int32Array | BigInt64Array, shape: Shape): Value {
    const dtype = data instanceof Float32Array ? 'float32' : data instanceof Int32Array ? 'int32' : 'int64'
    if (!sameDimension(data.length, sizeOf(shape)))
      refuse('constant', `${data.length} elements given`, { dtype, shape })
    const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    const key =
      raw.length <= 256 ? `${dtype}[${showSizes(shape)}]${Buffer.from(raw).toString('base64')}` : undefined
    const known = key === undefined ? undefined : this.constants.get(key)
    if (known) return known
    const value = this.value(`c${this.counter++}`, dtype, shape)
    this.initializers.push({
      name: value.name,
      elementType: ELEMENT_TYPES[dtype],
      shape: shape as readonly number[],
      raw,
    })
    if (key !== undefined) this.constants.set(key, value)
    return value
  }

  scalar(value: number): Value {
    return this.constant(Float32Array.of(value), [])
  }

  /** A list of integers: a constant, or an input computed from the run's sizes if one of the values is symbolic. */
  ints(values: readonly Dimension[]): Value {
    if (values.every((value) => typeof value === 'number')) {
      return this.constant(BigInt64Array.from(values, BigInt), [values.length])
    }
    return this.compute(`sizes.${showSizes(values)}`, 'int64', [values.length], (bindings) =>
      BigInt64Array.from(values, (value) => BigInt(boundSize(value, bindings))),
    )
  }

  /** An input computed from the sizes of each run. The same key gives the same input. */
  compute(key: string, dtype: 'float32' | 'int64', shape: Shape, compute: ComputedInput['compute']): Value {
    const known = this.computedInputs.get(key)
    if (known) return known.value
    const value = this.value(`computed.${this.computedInputs.size}`, dtype, shape)
    this.computedInputs.set(key, { value, compute })
    return value
  }

  record(inputs: readonly Value[], outputs: readonly Value[], vectorJacobian: VectorJacobian): void {
    this.tape.push({ inputs, outputs, vectorJacobian })
  }

  private isHidden(size: Dimension): boolean {
    return [...this.unplanned].some((symbol) => dependsOn(size, symbol))
  }

  /** What the model states of a value's shape; undefined for nothing. */
  private statedOf(value: Value): ValueInfoProto | undefined {
    if (this.unplannedValues.has(value.name)) return undefined
    if (!value.shape.some((size) => this.isHidden(size))) return infoOf(value)
    const part = this.partOf.get(value.name)
    if (part === undefined) return undefined
    return infoOf(value, {
      show: (size) => (this.isHidden(size) ? `${showDimension(size)} of part ${part}` : showDimension(size)),
    })
  }

  /** The nodes that an output depends on, in order. Gradient rules may add nodes that no output needs. */
  private liveNodes(): NodeProto[] {
    const needed = new Set(this.outputValues.map(({ value }) => value.name))
    const live: NodeProto[] = []
    for (let i = this.nodes.length - 1; i >= 0; i--) {
      const node = this.nodes[i]!
      if (!node.outputs.some((output) => needed.has(output))) continue
      for (const input of node.inputs) needed.add(input)
      live.push(node)
    }
    return live.reverse()
  }

  private lowered(lowering: Lowering | undefined): { nodes: NodeProto[]; constants: TensorProto[] } {
    const live = this.liveNodes()
    if (!lowering) return { nodes: live, constants: [] }
    const used = new Set([
      ...live.flatMap(({ inputs }) => inputs),
      ...this.outputValues.map(({ value }) => value.name),
    ])
    const constants = new Map<string, TensorProto>()
    const nodes = live.flatMap((node) => {
      const replaced = lowering(node, (output) => used.has(output))
      for (const constant of replaced?.constants ?? []) constants.set(constant.name, constant)
      return replaced?.nodes ?? [node]
    })
    return { nodes, constants: [...constants.values()] }
  }

  /**
   * The bytes of the model. Outputs keep the names given to `output`. The model states the shapes of intermediate
   * values, because the runtime cannot infer which sizes are equal after a Reshape. With them it computes in place, and
   * it plans a deep graph seconds faster.
   */
  encode(lowering?: Lowering): Uint8Array {
    const { nodes, constants } = this.lowered(lowering)
    // Shapes are stated for these nodes only, because a lowering may change what a node computes.
    const own = new Set(this.nodes)
    const rename = new Map<string, string>()
    const inputs = [...this.inputValues, ...this.computed.map(({ value }) => value)]
    const isInput = new Set(inputs.map((value) => value.name))
    const produced = new Set(nodes.flatMap((node) => node.outputs))
    for (const { name, value } of this.outputValues) {
      if (!isInput.has(value.name) && produced.has(value.name) && !rename.has(value.name))
        rename.set(value.name, name)
      else nodes.push({ op: 'Identity', domain: '', inputs: [value.name], outputs: [name], attributes: {} })
    }
    const renamed = (name: string): string => rename.get(name) ?? name
    return encodeModel({
      name: this.name,
      opset: OPSET,
      nodes: nodes.map((node) => ({
        ...node,
        inputs: node.inputs.map(renamed),
        outputs: node.outputs.map(renamed),
      })),
      initializers: [
        ...this.initializers,
        ...constants,
        ...this.fixedValues.map(({ name, dtype, shape }) => ({
          name,
          elementType: ELEMENT_TYPES[dtype],
          shape: shape as readonly number[],
        })),
      ],
      inputs: inputs.map((value) => infoOf(value)),
      outputs: this.outputValues.map(({ name, value }) => infoOf(value, { name })),
      values: nodes
        .filter((node) => own.has(node))
        .flatMap((node) => node.outputs.filter((name) => !rename.has(name)))
        .flatMap((name) => this.statedOf(this.made.get(name)!) ?? []),
    })
  }
}
