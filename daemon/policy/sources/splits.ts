// Which files of a dataset on the hub belong to a split of a subset: those that its card names, else by the hub's
// convention, a split's name as a word in a path and a subset's name as a folder.

import { z } from 'zod'

/** What the rows are asked of: `subset` is what the hub also calls a config. */
export interface Part {
  subset?: string | undefined
  split: string
}

export type Chosen = { files: string[] } | { problem: string }

const READABLE = /\.(parquet|jsonl|csv|tsv)$/
const SPLITS = [
  'train',
  'training',
  'validation',
  'valid',
  'val',
  'dev',
  'test',
  'testing',
  'eval',
  'evaluation',
]
const MOST_NAMED = 20

const paths = z.union([z.string(), z.array(z.string()).max(1000)])
const card = z.object({
  configs: z
    .array(
      z.object({
        config_name: z.string(),
        default: z.boolean().optional(),
        data_files: z.union([
          z.string(),
          z.array(z.union([z.string(), z.object({ split: z.string(), path: paths })])).max(1000),
        ]),
      }),
    )
    .min(1)
    .max(10_000),
})
type Config = z.infer<typeof card>['configs'][number]

/** `listed`: paths of all files of the commit; `told`: the card's metadata, as the hub gives it. */
export function chooseFiles(
  part: Part,
  { listed, told }: { listed: readonly string[]; told: unknown },
): Chosen {
  const readable = listed.filter((path) => READABLE.test(path)).sort()
  if (readable.length === 0)
    return { problem: 'it has no *.parquet, *.jsonl, *.csv or *.tsv file, and no code of a dataset is run' }
  const { data } = card.safeParse(told)
  const chosen = data ? byCard(part, data.configs, readable) : byConvention(part, readable)
  if ('problem' in chosen) return chosen
  // As the hub does: the same rows are often there in several forms, so one form is read.
  const [first = ''] = chosen.files
  const form = first.slice(first.lastIndexOf('.'))
  return { files: chosen.files.filter((path) => path.endsWith(form)) }
}

function byCard({ subset, split }: Part, configs: readonly Config[], readable: readonly string[]): Chosen {
  const found =
    subset === undefined
      ? (configs.find((config) => config.default || config.config_name === 'default') ??
        (configs.length === 1 ? configs[0] : undefined))
      : configs.find((config) => config.config_name === subset)
  if (!found)
    return {
      problem: `${subset === undefined ? 'name its' : `it has no "${subset}": take a`} subset${among(configs.map((config) => config.config_name))}`,
    }
  const { data_files } = found
  const entries = typeof data_files === 'string' ? [data_files] : data_files
  const splits = entries.map((entry) => (typeof entry === 'string' ? { split: 'train', path: entry } : entry))
  const patterns = splits.filter((entry) => entry.split === split).flatMap((entry) => entry.path)
  if (patterns.length === 0)
    return { problem: `it has no split "${split}"${among(splits.map((entry) => entry.split))}` }
  const files = readable.filter((path) => patterns.some((pattern) => matches(pattern, path)))
  return files.length > 0
    ? { files }
    : {
        problem: `its split "${split}" is in ${patterns.join(', ').slice(0, 200)}, which is not Parquet, JSON lines or a table`,
      }
}

function byConvention({ subset, split }: Part, readable: readonly string[]): Chosen {
  const within =
    subset === undefined ? readable : readable.filter((path) => path.split('/').slice(0, -1).includes(subset))
  if (within.length === 0)
    return { problem: `it has no "${subset}": take a subset${among(readable.map(folderOf))}` }
  const named = within.filter((path) => hasWord(path, split))
  const splits = SPLITS.filter((one) => within.some((path) => hasWord(path, one)))
  // Files that no split's name is in are all of the training split.
  const files = named.length > 0 || splits.length > 0 || split !== 'train' ? named : within
  if (files.length === 0) return { problem: `it has no split "${split}"${among(splits)}` }
  const folders = new Set(files.map(folderOf))
  if (subset === undefined && folders.size > 1) return { problem: `name its subset${among([...folders])}` }
  return { files: [...files] }
}

const folderOf = (path: string): string =>
  path
    .split('/')
    .slice(0, -1)
    .find((part) => part !== 'data' && !SPLITS.includes(part)) ?? 'data'

const hasWord = (path: string, word: string): boolean =>
  path
    .slice(0, path.lastIndexOf('.'))
    .split(/[/\\._ -]|(?<=\D)(?=\d)/)
    .includes(word)

const among = (names: readonly string[]): string => {
  const known = [...new Set(names)]
  if (known.length === 0) return ''
  const more = known.length > MOST_NAMED ? ` and ${known.length - MOST_NAMED} more` : ''
  return ` (${known.slice(0, MOST_NAMED).join(', ')}${more})`
}

/** As in a card: `*` and `?` within a folder, `**` through folders. */
function matches(pattern: string, path: string): boolean {
  const parts = pattern.split('/')
  const through = (at: number, rest: readonly string[]): boolean => {
    const part = parts[at]
    if (part === undefined) return rest.length === 0
    if (part === '**') return rest.some((_, i) => through(at + 1, rest.slice(i)))
    return rest.length > 0 && fits(part, rest[0]!) && through(at + 1, rest.slice(1))
  }
  return through(0, path.split('/'))
}

/** Without backtracking into exponential time: remembers the last star only. */
function fits(pattern: string, name: string): boolean {
  let [p, n, star, from] = [0, 0, -1, 0]
  while (n < name.length)
    if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++
      n++
    } else if (pattern[p] === '*') {
      star = p++
      from = n
    } else if (star >= 0) {
      p = star + 1
      n = ++from
    } else return false
  return [...pattern.slice(p)].every((left) => left === '*')
}
