// Encodes numbers as bytes for a group's record, without loss. Tokens take two bytes each if that is enough.

/** Two bytes per token if all IDs fit, otherwise four; the first byte says which. */
export function packTokens(tokens: Int32Array): Uint8Array {
  const small = tokens.every((token) => token >= 0 && token <= 0xffff)
  const values = bytesOf(small ? Uint16Array.from(tokens) : tokens)
  const packed = new Uint8Array(1 + values.length)
  packed[0] = small ? 2 : 4
  packed.set(values, 1)
  return packed
}

export function unpackTokens(packed: Uint8Array): Int32Array {
  const values = bufferOf(packed.subarray(1))
  return packed[0] === 2 ? Int32Array.from(new Uint16Array(values)) : new Int32Array(values)
}

export function bytesOf(values: Float32Array | Float64Array | Int32Array | Uint16Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/** A copy, aligned for any typed array. */
export function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}
