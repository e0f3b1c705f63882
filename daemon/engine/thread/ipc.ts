// Sends large arrays between processes. A message is limited to four gigabytes, and a model's arrays may be larger. So
// they are sent ahead of their message in pieces, each of which is an ordinary message.

/** Arrays of at least this many bytes are sent ahead. */
const LARGE_BYTES = 1 << 20
const PIECE_BYTES = 1 << 25

type Typed = Float32Array | Int32Array | Uint8Array | Uint16Array | BigInt64Array
const KINDS = { Float32Array, Int32Array, Uint8Array, Uint16Array, BigInt64Array } as const
type Kind = keyof typeof KINDS

interface Piece {
  piece: number
  at: number
  of: number
  bytes: Uint8Array
}
interface Placeholder {
  $array: number
  kind: Kind
}

let lastPiece = 0

export function sendInPieces(message: unknown, send: (message: unknown) => void): void {
  const replaced = walk(message, (value) => {
    if (!isTyped(value) || value.byteLength < LARGE_BYTES) return undefined
    const id = ++lastPiece
    for (let at = 0; at < value.byteLength; at += PIECE_BYTES) {
      const length = Math.min(PIECE_BYTES, value.byteLength - at)
      const bytes = new Uint8Array(value.buffer, value.byteOffset + at, length)
      send({ piece: id, at, of: value.byteLength, bytes } satisfies Piece)
    }
    return { $array: id, kind: value.constructor.name as Kind } satisfies Placeholder
  })
  send({ message: replaced })
}

/** Receives what `sendInPieces` sends and passes on whole messages. Other messages pass unchanged. */
export function joining<Message>(listen: (message: Message) => void): (received: unknown) => void {
  const arrays = new Map<number, Uint8Array>()
  return (received) => {
    const { piece, at, of, bytes } = received as Partial<Piece>
    if (piece !== undefined) {
      const whole = arrays.get(piece) ?? new Uint8Array(of!)
      arrays.set(piece, whole)
      whole.set(bytes!, at)
      return
    }
    if (!('message' in (received as object))) return listen(received as Message)
    const message = walk((received as { message: unknown }).message, (value) => {
      const { $array, kind } = (value ?? {}) as Partial<Placeholder>
      if ($array === undefined) return undefined
      const { buffer } = arrays.get($array)!
      arrays.delete($array)
      return new KINDS[kind!](buffer as ArrayBuffer)
    })
    listen(message as Message)
  }
}

function isTyped(value: unknown): value is Typed {
  return ArrayBuffer.isView(value) && value.constructor.name in KINDS
}

/** A deep copy. Where `replace` returns a value, that value takes the place of the original. */
function walk(value: unknown, replace: (value: unknown) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const replaced = replace(value)
  if (replaced !== undefined) return replaced
  if (ArrayBuffer.isView(value)) return value
  if (Array.isArray(value)) return value.map((part) => walk(part, replace))
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, walk(part, replace)]))
}
