// An archive of regular files that `tar` can list and unpack: ustar, with a pax header before a file whose name or size
// does not fit into ustar's (POSIX.1-2001, "pax Interchange Format"). Other kinds of entries are refused.

const BLOCK = 512
const MAX_NAME_BYTES = 100
/** Eleven octal digits. */
const MAX_SIZE = 8 ** 11 - 1
const MAX_PAX_BYTES = 64 * 1024
const [FILE, PAX] = ['0', 'x']

export interface TarFile {
  name: string
  /** Bytes of the content, which must have exactly so many. */
  size: number
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** `time`: of all files, in ms since the epoch. */
export async function* tarOf(
  files: AsyncIterable<TarFile>,
  { time }: { time: number },
): AsyncGenerator<Uint8Array> {
  for await (const { name, size, content } of files) {
    const pax = paxOf(name, size)
    if (pax) {
      yield headerOf({ name: 'pax', size: pax.length, type: PAX, time })
      yield* [pax, paddingOf(pax.length)]
    }
    yield headerOf({ name, size, type: FILE, time })
    let bytes = 0
    for await (const piece of content) {
      bytes += piece.length
      yield piece
    }
    if (bytes !== size) throw new Error(`${name} has ${bytes} bytes, and had ${size}`)
    yield paddingOf(size)
  }
  yield new Uint8Array(2 * BLOCK)
}

export interface TarEntry {
  name: string
  size: number
  /** Where its content begins. */
  at: number
}

/** Reads the headers of an archive. Throws an error that says what is wrong with it. */
export async function* entriesOf(
  read: (into: Uint8Array, position: number) => Promise<number>,
): AsyncGenerator<TarEntry> {
  const readWhole = async (bytes: number, position: number): Promise<Uint8Array> => {
    const into = new Uint8Array(bytes)
    if ((await read(into, position)) < bytes) throw new Error('it ends too early')
    return into
  }
  let pax: Partial<Record<string, string>> = {}
  for (let at = 0; ; ) {
    const block = await readWhole(BLOCK, at)
    if (block.every((byte) => byte === 0)) return
    const { name, size, type } = parseHeader(block, at)
    at += BLOCK
    if (type === PAX) {
      if (size > MAX_PAX_BYTES) throw new Error(`its header at byte ${at} is too large`)
      pax = parsePax(await readWhole(size, at))
    } else if (type === FILE) {
      const entry = { name: pax.path ?? name, size: pax.size === undefined ? size : Number(pax.size), at }
      if (!Number.isSafeInteger(entry.size) || entry.size < 0) throw new Error(`${entry.name} has no size`)
      pax = {}
      yield entry
      at += entry.size + paddingOf(entry.size).length
      continue
    } else throw new Error(`${name} is not a file`)
    at += size + paddingOf(size).length
  }
}

const paddingOf = (size: number): Uint8Array => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK)

function headerOf({ name, size, type, time }: { name: string; size: number; type: string; time: number }) {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0')
  Buffer.from(name).copy(block, 0, 0, MAX_NAME_BYTES)
  block.write(octal(0o600, 7), 100)
  block.write(octal(0, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(Math.min(size, MAX_SIZE), 11), 124)
  block.write(octal(Math.floor(time / 1000), 11), 136)
  block.write(type, 156)
  block.write('ustar\u000000', 257)
  block.write(`${octal(checksumOf(block), 6)}\0 `, 148)
  return block
}

function parseHeader(block: Uint8Array, at: number): { name: string; size: number; type: string } {
  const text = (from: number, bytes: number): string =>
    Buffer.from(block.subarray(from, from + bytes))
      .toString()
      .replace(/\0.*$/s, '')
      .trim()
  if (Number.parseInt(text(148, 8), 8) !== checksumOf(block) || text(257, 5) !== 'ustar')
    throw new Error(`its header at byte ${at} is damaged`)
  const size = Number.parseInt(text(124, 12), 8)
  if (!Number.isSafeInteger(size) || size < 0) throw new Error(`its header at byte ${at} has no size`)
  return { name: text(0, MAX_NAME_BYTES), size, type: String.fromCharCode(block[156]!) }
}

/** The sum of a header's bytes; its own field counts as spaces. */
function checksumOf(block: Uint8Array): number {
  return block.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 0x20 : byte), 0)
}

/** Undefined if ustar's header is enough. */
function paxOf(name: string, size: number): Uint8Array | undefined {
  const records = [
    ...(Buffer.byteLength(name) > MAX_NAME_BYTES ? [paxRecord('path', name)] : []),
    ...(size > MAX_SIZE ? [paxRecord('size', String(size))] : []),
  ]
  return records.length > 0 ? Buffer.from(records.join('')) : undefined
}

/** `LENGTH KEY=VALUE\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes + String(bytes).length
  if (bytes + String(length).length !== length) length += 1
  return `${length}${rest}`
}

function parsePax(bytes: Uint8Array): Partial<Record<string, string>> {
  const all = Buffer.from(bytes)
  const found: Partial<Record<string, string>> = Object.create(null)
  for (let at = 0; at < all.length; ) {
    const space = all.indexOf(' ', at)
    const length = Number(all.subarray(at, space).toString())
    const record = all.subarray(space + 1, at + length - 1).toString()
    const equals = record.indexOf('=')
    if (space < 0 || !(length > 0) || equals < 1) throw new Error('a header of it is damaged')
    found[record.slice(0, equals)] = record.slice(equals + 1)
    at += length
  }
  return found
}
