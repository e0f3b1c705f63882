// Decompresses Snappy, LevelDB's compression of blocks (google/snappy, format_description.txt).

/** Far more than any block of LevelDB has. */
const MAX_BYTES = 1 << 26

/** Throws a RangeError if `bytes` is not well-formed. */
export function unsnapped(bytes: Uint8Array): Uint8Array {
  let at = 0
  const next = (count: number): number => {
    let value = 0
    for (let i = 0; i < count; i++) {
      if (at >= bytes.length) throw new RangeError('compressed data ends early')
      value += bytes[at++]! * 2 ** (8 * i)
    }
    return value
  }
  let length = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = next(1)
    length += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) break
  }
  if (length > MAX_BYTES) throw new RangeError('compressed data says that it is too large')
  const out = new Uint8Array(length)
  let filled = 0
  const room = (count: number): void => {
    if (filled + count > length) throw new RangeError('compressed data is longer than it says')
  }
  while (at < bytes.length) {
    const tag = next(1)
    const kind = tag & 3
    if (kind === 0) {
      const short = tag >> 2
      const count = 1 + (short < 60 ? short : next(short - 59))
      room(count)
      if (at + count > bytes.length) throw new RangeError('compressed data ends early')
      out.set(bytes.subarray(at, at + count), filled)
      at += count
      filled += count
      continue
    }
    const count = kind === 1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2)
    const back = kind === 1 ? ((tag >> 5) << 8) + next(1) : next(kind === 2 ? 2 : 4)
    room(count)
    if (back === 0 || back > filled) throw new RangeError('compressed data points outside itself')
    // A copy may overlap with what it writes.
    for (let i = 0; i < count; i++, filled++) out[filled] = out[filled - back]!
  }
  if (filled !== length) throw new RangeError('compressed data is shorter than it says')
  return out
}
