// What clients saved, on disk: DIRECTORY/RUN/KIND/NAME holds a checkpoint and what is known of it. Its address for clients
// is tinker://RUN/KIND/NAME.

import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { HttpError } from '../../http/index.ts'
import { invalid } from '../errors.ts'

/** Training goes on from weights; from those for samplers, too. */
export type Kind = 'weights' | 'sampler_weights'

const ABOUT = z.object({
  base: z.string(),
  rank: z.int(),
  /** ms since the epoch. */
  time: z.number(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
})
type About = z.infer<typeof ABOUT>

export interface Place {
  run: string
  kind: Kind
  name: string
}

export interface SavedWeights extends About, Place {
  path: string
  folder: string
}

export interface Saved {
  /** The folder for a new checkpoint. Throws HttpError if the name cannot be used. */
  begin(place: Place, options: { overwrite: boolean }): Promise<string>
  /** Called once the checkpoint is in the folder. Returns its address. */
  end(place: Place, about: Omit<About, 'time'>): Promise<string>
  /** Throws HttpError for an address that is not there. */
  find(path: string): Promise<SavedWeights>
  /** Newest first. */
  all(): Promise<SavedWeights[]>
  remove(path: string): Promise<void>
}

const NAME = /^[A-Za-z0-9][\w.-]{0,127}$/
const PATH = /^tinker:\/\/([\w:-]{1,200})\/(weights|sampler_weights)\/([^/]+)$/
const KINDS = ['weights', 'sampler_weights'] as const
const FILE = 'about.json'

/** Undefined for a file that is damaged. */
function readAbout(text: string): About | undefined {
  try {
    return ABOUT.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

export function createSaved(directory: string, { now }: { now(): number }): Saved {
  // Colons cannot be in the names of folders everywhere.
  const folderOf = ({ run, kind, name }: Place): string =>
    join(directory, run.replaceAll(':', '_'), kind, name)
  const addressOf = ({ run, kind, name }: Place): string => `tinker://${run}/${kind}/${name}`
  const read = async (place: Place): Promise<SavedWeights | undefined> => {
    const folder = folderOf(place)
    const text = await readFile(join(folder, FILE), 'utf8').catch(() => undefined)
    const about = text === undefined ? undefined : readAbout(text)
    return about && { ...about, ...place, path: addressOf(place), folder }
  }
  const list = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])
  const find: Saved['find'] = async (path) => {
    const [, run, kind, name] = PATH.exec(path) ?? []
    const isName = name !== undefined && NAME.test(name)
    const found = isName ? await read({ run: run!, kind: kind as Kind, name }) : undefined
    if (!found)
      throw new HttpError(404, 'unknown_weights', `there are no saved weights at ${path.slice(0, 400)}`)
    return found
  }
  return {
    async begin(place, { overwrite }) {
      if (!NAME.test(place.name))
        throw invalid(
          `"${place.name.slice(0, 128)}" cannot be a name: 1 to 128 letters, digits, ".", "-" and "_"`,
        )
      if (!overwrite && (await read(place)))
        throw invalid(`${addressOf(place)} is there already`, 'Choose another name, or say overwrite.')
      return folderOf(place)
    },
    async end(place, about) {
      const content = `${JSON.stringify({ ...about, time: now() })}\n`
      const file = join(folderOf(place), FILE)
      await writeFile(`${file}.partial`, content)
      await rename(`${file}.partial`, file)
      return addressOf(place)
    },
    find,
    async all() {
      const found: SavedWeights[] = []
      for (const run of await list(directory))
        for (const kind of KINDS)
          for (const name of await list(join(directory, run, kind))) {
            const one = await read({ run: run.replaceAll('_', ':'), kind, name })
            if (one) found.push(one)
          }
      return found.sort((a, b) => b.time - a.time)
    },
    async remove(path) {
      await rm((await find(path)).folder, { recursive: true })
    },
  }
}
