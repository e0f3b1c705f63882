// G26, G27, G28: objects that reach for Object.prototype, names that reach out of their folder, and text that a terminal would
// obey; each against the function that everything of its kind passes through.

import { FILE_NAME } from '../../daemon/store/checkpoints/manifest.ts'
import { safeText } from '../../protocol/text.ts'
import { type Writable, writeCbor } from '../../protocol/wire/cbor.ts'
import { KIND, sealFrame } from '../../protocol/wire/index.ts'
import { testSigner } from '../../test/protocol/wire/cases.ts'
import { type Random, randomOf } from '../../test/sim/world.ts'
import { HARNESSES } from '../../test/swarm/hostile/fuzzing.ts'
import type { Row } from './row.ts'

const many = (count: number): string => count.toLocaleString('en')

const POLLUTING = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'polluted',
  'prompt',
  'rollouts',
  'policy',
  '\ud800',
]

function polluting(random: Random, depth = 0): Writable {
  if (depth > 3 || random.chance(0.2)) return random.pick<Writable>([1, 'polluted', true, null])
  if (random.chance(0.2)) return [polluting(random, depth + 1)]
  const pairs = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () => [
    random.pick(POLLUTING),
    polluting(random, depth + 1),
  ])
  return Object.fromEntries(pairs) as Writable
}

export async function pollution({ count }: { count: number }): Promise<Row> {
  const random = randomOf('pollution')
  const signer = testSigner(4)
  const keys = (): string => Reflect.ownKeys(Object.prototype).map(String).join()
  const before = keys()
  const readers = Object.values(HARNESSES)
  let [polluted, thrown] = [0, 0]
  for (let i = 0; i < count; i++) {
    let bytes: Uint8Array
    try {
      bytes = writeCbor(polluting(random))
    } catch {
      continue
    }
    // Some messages are bodies of frames, and some come as they are.
    const kind = random.pick(Object.values(KIND))
    for (const message of [sealFrame(kind, bytes, signer), bytes])
      try {
        readers[i % readers.length]!(message)
      } catch {
        thrown++
      }
    if (({} as Record<string, unknown>).polluted !== undefined || keys() !== before) polluted++
  }
  merge({}, JSON.parse('{"__proto__": {"polluted": true}}'))
  const isSeen = ({} as Record<string, unknown>).polluted === true
  delete (Object.prototype as Record<string, unknown>).polluted
  return {
    goal: 'G26',
    tried: `${many(2 * count)} messages with __proto__, constructor and the like, ${many(thrown)} refused`,
    result: `Object.prototype changed ${polluted} times`,
    control: `a careless deep merge of one such message ${isSeen ? 'changes' : 'does not change'} it`,
    isMet: polluted === 0 && isSeen,
  }
}

/** As many programs have it. */
function merge(into: Record<string, unknown>, from: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(from))
    if (typeof value === 'object' && value !== null) {
      into[key] ??= {}
      merge(into[key] as Record<string, unknown>, value as Record<string, unknown>)
    } else into[key] = value
}

const PARTS = [
  '..',
  '/',
  '\\',
  '\0',
  'CON',
  'a',
  'weights',
  '.safetensors',
  '.',
  '%2e',
  '\u2024',
  '\uff0f',
  ' ',
  '-',
  '_',
  'A',
  '\n',
  'x'.repeat(70),
  '~',
  ':',
]

/** Independent of the allow-list: whether a name could be anything but a plain file in its folder. */
const reachesOut = (name: string): boolean =>
  name === '' || name.length > 64 || name.startsWith('.') || /[^\x20-\x7e]|[/\\:~%\s]/.test(name)

export async function names({ count }: { count: number }): Promise<Row> {
  const random = randomOf('names')
  let [out, allowed, naive] = [0, 0, 0]
  for (let i = 0; i < count; i++) {
    let name = ''
    for (let parts = 1 + Math.floor(random.next() * 4); parts > 0; parts--) name += random.pick(PARTS)
    const isBad = reachesOut(name)
    if (FILE_NAME.test(name)) {
      allowed++
      if (isBad) out++
    }
    if (isBad && !name.includes('../')) naive++
  }
  return {
    goal: 'G27',
    tried: `${many(count)} names of files, ${many(allowed)} allowed`,
    result: `${out} of those allowed reach out of their folder or are no plain name`,
    control: `a rule that forbids "../" lets ${many(naive)} bad ones through`,
    isMet: out === 0 && allowed > 0,
  }
}

const SEQUENCES = [
  '\x1b[2J',
  '\x1b]0;x\x07',
  '\x1b]52;c;eA==\x07',
  '\x1bP',
  '\x9b31m',
  '\r',
  '\b',
  '\u202e',
  '\u2066',
  '\u200b',
  '\ufeff',
  '\x7f',
  '\u2028',
  '\ud800',
  '\u{e0041}',
  'text',
  '\n',
  '\t',
  '\x00',
  '\x85',
]

const COLOURS = /\u001b\[[\d;]*m/g

/** By code point, as goal G28 lists them. */
function isRaw(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if ((c < 32 && c !== 9 && c !== 10) || (c >= 127 && c < 160)) return true
    if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || (c >= 0x200b && c <= 0x200f))
      return true
  }
  return false
}

export async function terminal({ count }: { count: number }): Promise<Row> {
  const random = randomOf('terminal')
  let [raw, stripped] = [0, 0]
  for (let i = 0; i < count; i++) {
    let text = ''
    for (let parts = 1 + Math.floor(random.next() * 5); parts > 0; parts--)
      text += random.chance(0.7)
        ? random.pick(SEQUENCES)
        : String.fromCharCode(Math.floor(random.next() * 65_536))
    if (isRaw(safeText(text))) raw++
    // What only strips colours, as many programs do.
    if (isRaw(text.replace(COLOURS, ''))) stripped++
  }
  return {
    goal: 'G28',
    tried: `${many(count)} texts with escape sequences, bidi and control characters`,
    result: `${raw} still have one`,
    control: `of those from which only colours were stripped, ${many(stripped)}`,
    isMet: raw === 0,
  }
}
