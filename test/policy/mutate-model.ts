// Damages a model folder in one of many ways, from a seed: header, offsets, dtypes, sizes, the index, configs,
// truncation, absurd lengths, names that lead out of the folder. In memory: what is read is what the loader asks for.

export type Folder = Map<string, Buffer>

export interface Mutation {
  /** For the message when something goes wrong. */
  what: string
  folder: Folder
  /** Names that are links, and where to. */
  links: Map<string, string>
}

const NUMBERS = [
  '-1',
  '0',
  '1',
  '3',
  '0.5',
  '1e999',
  '-0',
  '65536',
  '4294967296',
  '9007199254740993',
  '1e308',
  '99999999999999999999',
]
const VALUES = [
  ...NUMBERS,
  'null',
  'true',
  '[]',
  '{}',
  '"F16"',
  '"F4"',
  '""',
  '"__proto__"',
  '"\\ud800"',
  '[[[[[[',
  '"',
  'NaN',
  '\u0000',
  '\u202e',
]
const PATHS = [
  '../outside.safetensors',
  '/etc/passwd',
  '..\\outside.safetensors',
  'a/../../x.safetensors',
  '.hidden.safetensors',
  'CON.safetensors',
  'model.bin',
  '',
  'x\u0000.safetensors',
  'https://x/y.safetensors',
  'outside-link.safetensors',
  `${'a'.repeat(300)}.safetensors`,
]
const LENGTHS = [
  0n,
  1n,
  7n,
  2n ** 20n,
  2n ** 32n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
  100_000_000n,
  100_000_001n,
]

export function mutateModel(seed: Folder, random: () => number): Mutation {
  const folder: Folder = new Map(seed)
  const links = new Map<string, string>()
  const pick = (n: number): number => Math.floor(random() * n)
  const one = <T>(list: readonly T[]): T => list[pick(list.length)]!
  const did: string[] = []
  const names = () => [...folder.keys()]
  const weights = () => names().filter((name) => name.endsWith('.safetensors'))

  const ways: (() => string | undefined)[] = [
    function cut() {
      const name = one(names())
      const bytes = folder.get(name)!
      folder.set(name, bytes.subarray(0, pick(bytes.length + 1)))
      return `cut ${name}`
    },
    function lengthen() {
      const name = one(names())
      folder.set(name, Buffer.concat([folder.get(name)!, Buffer.alloc(1 + pick(64), pick(256))]))
      return `lengthen ${name}`
    },
    function flip() {
      const name = one(names())
      const bytes = Buffer.from(folder.get(name)!)
      if (bytes.length === 0) return undefined
      // Most of a model is values, in which nothing can be wrong but that they are not finite.
      bytes[pick(Math.min(bytes.length, 4000))] = pick(256)
      folder.set(name, bytes)
      return `flip ${name}`
    },
    function headerLength() {
      const name = one(weights())
      const bytes = Buffer.from(folder.get(name) ?? '')
      if (bytes.length < 8) return undefined
      bytes.writeBigUInt64LE(one(LENGTHS), 0)
      folder.set(name, bytes)
      return `header length ${name}`
    },
    function header() {
      const name = one(weights())
      const bytes = folder.get(name)
      if (!bytes || bytes.length < 8) return undefined
      const end = 8 + Number(bytes.readBigUInt64LE(0))
      if (end > bytes.length) return undefined
      const changed = Buffer.from(changeToken(bytes.subarray(8, end).toString('latin1'), VALUES), 'latin1')
      const length = Buffer.alloc(8)
      // Kept right, so that the checks behind it are reached.
      length.writeBigUInt64LE(BigInt(changed.length))
      folder.set(name, Buffer.concat([length, changed, bytes.subarray(end)]))
      return `header ${name}`
    },
    function json() {
      const name = one(names().filter((file) => file.endsWith('.json')))
      const text = folder.get(name)?.toString('utf8') ?? ''
      // Tokens near the beginning: a vocabulary is long, and one entry of it like the other.
      folder.set(name, Buffer.from(changeToken(text.slice(0, 4000), VALUES) + text.slice(4000)))
      return `json ${name}`
    },
    function sizes() {
      const name = 'config.json'
      const text = folder.get(name)?.toString('utf8') ?? ''
      folder.set(
        name,
        Buffer.from(
          text.replace(one([/(?<="\w+": ?)\d[\d.]*/g, /"head_dim": ?\d+/, /"rope_theta": ?\d+/]), (found) =>
            random() < 0.3 ? found.replace(/\d[\d.]*$/, one(NUMBERS)) : found,
          ),
        ),
      )
      return 'sizes'
    },
    function index() {
      const name = 'model.safetensors.index.json'
      const text = folder.get(name)?.toString('utf8')
      if (!text) return undefined
      folder.set(
        name,
        Buffer.from(
          random() < 0.7
            ? text.replace(/part-\d\.safetensors/, () => one(PATHS))
            : changeToken(text, [...VALUES, ...PATHS.map((path) => JSON.stringify(path))]),
        ),
      )
      return 'index'
    },
    function drop() {
      const name = one(names())
      folder.delete(name)
      return `drop ${name}`
    },
    function swap() {
      const [a, b] = [one(names()), one(names())]
      const bytes = folder.get(a)!
      folder.set(a, folder.get(b)!)
      folder.set(b, bytes)
      return `swap ${a} ${b}`
    },
    function link() {
      const name = one(names())
      folder.delete(name)
      links.set(name, one(['/outside/secret', '../outside/secret', `/model/${name}`, '/model', '/nowhere']))
      return `link ${name}`
    },
    function rope() {
      const text = folder.get('config.json')?.toString('utf8') ?? ''
      const scaling = one([
        '{"rope_type":"yarn"}',
        '{"rope_type":"llama3","factor":1e999}',
        '{"type":"longrope","x":[1]}',
        '[]',
        '7',
        '{"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":1,"original_max_position_embeddings":64}',
      ])
      folder.set('config.json', Buffer.from(text.replace('{', `{"rope_scaling":${scaling},`)))
      return 'rope'
    },
  ]
  function changeToken(text: string, values: readonly string[]): string {
    const tokens = [...text.matchAll(/\d+|"[^"]*"|[[\]{}:,]/g)]
    const token = tokens[pick(tokens.length)]
    if (!token) return text
    const put = random() < 0.6 ? one(values) : one(tokens)[0]
    return text.slice(0, token.index) + put + text.slice(token.index + token[0].length)
  }
  for (let round = 0; round <= pick(2); round++) {
    if (weights().length === 0 || folder.size === 0) break
    did.push(one(ways)() ?? 'nothing')
  }
  return { what: did.join(', '), folder, links }
}
