// Encodes ONNX's protobuf, but only the messages and fields that Waggle's graphs need. There is no decoder. Field
// numbers are those of onnx.proto3 (ONNX 1.16).

export type AttributeValue = number | { float: number } | string | readonly number[]

export interface NodeProto {
  op: string
  domain: string
  inputs: readonly string[]
  outputs: readonly string[]
  attributes: Readonly<Record<string, AttributeValue>>
}

export interface TensorProto {
  name: string
  elementType: number
  shape: readonly number[]
  /** Left out if the content is passed to the session separately, under the tensor's name. */
  raw?: Uint8Array
}

export interface ValueInfoProto {
  name: string
  elementType: number
  /** A string names a size that is unknown in advance. Equal names mean equal sizes. */
  shape: readonly (number | string)[]
}

interface ModelProto {
  name: string
  opset: number
  nodes: readonly NodeProto[]
  initializers: readonly TensorProto[]
  inputs: readonly ValueInfoProto[]
  outputs: readonly ValueInfoProto[]
  /** Types and shapes of node outputs, where they are known in advance. */
  values: readonly ValueInfoProto[]
}

const ATTRIBUTE_FLOAT = 1
const ATTRIBUTE_INT = 2
const ATTRIBUTE_STRING = 3
const ATTRIBUTE_INTS = 7
const IR_VERSION = 9
/** Data location: the tensor's content is stored outside the model. */
const EXTERNAL = 1

const utf8 = new TextEncoder()

class Writer {
  private buffer = new Uint8Array(1024)
  private length = 0

  private reserve(extra: number): void {
    if (this.length + extra <= this.buffer.length) return
    const grown = new Uint8Array(Math.max(this.buffer.length * 2, this.length + extra))
    grown.set(this.buffer.subarray(0, this.length))
    this.buffer = grown
  }

  private varint(value: number | bigint): void {
    let rest = BigInt.asUintN(64, BigInt(value))
    this.reserve(10)
    while (rest > 0x7fn) {
      this.buffer[this.length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.buffer[this.length++] = Number(rest)
  }

  int(field: number, value: number): void {
    this.varint(field << 3)
    this.varint(value)
  }

  float(field: number, value: number): void {
    this.varint((field << 3) | 5)
    this.reserve(4)
    new DataView(this.buffer.buffer).setFloat32(this.length, value, true)
    this.length += 4
  }

  bytes(field: number, value: Uint8Array): void {
    this.varint((field << 3) | 2)
    this.varint(value.length)
    this.reserve(value.length)
    this.buffer.set(value, this.length)
    this.length += value.length
  }

  text(field: number, value: string): void {
    this.bytes(field, utf8.encode(value))
  }

  message(field: number, write: (writer: Writer) => void): void {
    const inner = new Writer()
    write(inner)
    this.bytes(field, inner.finish())
  }

  finish(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }
}

function writeAttribute(writer: Writer, name: string, value: AttributeValue): void {
  writer.text(1, name)
  if (typeof value === 'number') {
    writer.int(3, value)
    writer.int(20, ATTRIBUTE_INT)
  } else if (typeof value === 'string') {
    writer.text(4, value)
    writer.int(20, ATTRIBUTE_STRING)
  } else if ('float' in value) {
    writer.float(2, value.float)
    writer.int(20, ATTRIBUTE_FLOAT)
  } else {
    for (const item of value) writer.int(8, item)
    writer.int(20, ATTRIBUTE_INTS)
  }
}

function writeValueInfo(writer: Writer, info: ValueInfoProto): void {
  writer.text(1, info.name)
  writer.message(2, (type) =>
    type.message(1, (tensor) => {
      tensor.int(1, info.elementType)
      tensor.message(2, (shape) => {
        for (const size of info.shape) {
          shape.message(1, (dimension) => {
            if (typeof size === 'number') dimension.int(1, size)
            else dimension.text(2, size)
          })
        }
      })
    }),
  )
}

/** The bytes of a complete `.onnx` file. */
export function encodeModel(model: ModelProto): Uint8Array {
  const writer = new Writer()
  writer.int(1, IR_VERSION)
  writer.text(2, 'waggle')
  writer.message(7, (graph) => {
    for (const node of model.nodes) {
      graph.message(1, (out) => {
        for (const name of node.inputs) out.text(1, name)
        for (const name of node.outputs) out.text(2, name)
        out.text(4, node.op)
        for (const [name, value] of Object.entries(node.attributes)) {
          out.message(5, (attribute) => writeAttribute(attribute, name, value))
        }
        if (node.domain !== '') out.text(7, node.domain)
      })
    }
    graph.text(2, model.name)
    for (const tensor of model.initializers) {
      graph.message(5, (out) => {
        for (const size of tensor.shape) out.int(1, size)
        out.int(2, tensor.elementType)
        out.text(8, tensor.name)
        if (tensor.raw) return out.bytes(9, tensor.raw)
        out.message(13, (entry) => {
          entry.text(1, 'location')
          entry.text(2, tensor.name)
        })
        out.int(14, EXTERNAL)
      })
    }
    for (const info of model.inputs) graph.message(11, (out) => writeValueInfo(out, info))
    for (const info of model.outputs) graph.message(12, (out) => writeValueInfo(out, info))
    for (const info of model.values) graph.message(13, (out) => writeValueInfo(out, info))
  })
  for (const [domain, version] of [
    ['', model.opset],
    ['com.microsoft', 1],
  ] as const) {
    writer.message(8, (opset) => {
      opset.text(1, domain)
      opset.int(2, version)
    })
  }
  return writer.finish()
}
