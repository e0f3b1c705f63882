// Conversion between F16 and F32.

let halves: Float32Array | undefined

/** The value of each of the 65,536 F16 bit patterns. */
export function halfValues(): Float32Array {
  if (halves) return halves
  const value = new Float32Array(65536)
  const bits = new Uint32Array(value.buffer)
  for (let half = 0; half < 65536; half++) {
    const exponent = (half >>> 10) & 31
    const mantissa = half & 1023
    if (exponent === 31) bits[half] = 0x7f800000 | (mantissa << 13)
    else value[half] = exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15)
    bits[half]! |= (half & 0x8000) << 16
  }
  halves = value
  return value
}

/** The nearest F16 to the F32 with these bits, ties to even, as in PyTorch. Values too large become infinite. */
export function roundToHalf(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  // 65520, half-way between the largest F16 and the next power of two, already rounds up to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  const normal = magnitude >= 0x38800000
  // Subnormal F16 values are multiples of 2^-24: shift the F32 mantissa, with its hidden bit, right until its unit is
  // 2^-24.
  const shift = normal ? 13 : Math.min(126 - (magnitude >>> 23), 25)
  const mantissa = normal ? magnitude - 0x38000000 : (magnitude & 0x7fffff) | 0x800000
  const whole = mantissa >>> shift
  const rest = mantissa & ((1 << shift) - 1)
  const half = 1 << (shift - 1)
  return sign | (whole + (rest > half || (rest === half && (whole & 1) === 1) ? 1 : 0))
}
