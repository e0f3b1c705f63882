// The adapters that an external sampler has loaded. Each is freed when it is retired and the last call that writes with
// it has ended.

import type { GenerateOptions, GenerateRequest, Sample } from '../engine/engine.ts'
import type { Weights } from '../engine/weights.ts'
import type { AdapterFiles } from './adapter-files.ts'
import type { AdapterFile, BackEnd, LoadedAdapter } from './back-end.ts'
import { type LinesOptions, openLines } from './lines.ts'

export interface HeldAdapter {
  readonly version: number
  readonly file: AdapterFile
  readonly adapter: LoadedAdapter
  /** Number of running calls that write with it. */
  users: number
  isRetired: boolean
}

interface AdaptersParts {
  /** Begins the name of each adapter. Several nodes may share a server and its folder, and a killed one leaves adapters. */
  run: string
  backEnd: Pick<BackEnd, 'isExclusive' | 'load'>
  files: AdapterFiles
  /** Of the open model. */
  lines(): Omit<LinesOptions, 'version'>
}

export interface Adapters {
  load(version: number, weights: Weights): Promise<HeldAdapter>
  write(held: HeldAdapter, request: GenerateRequest, options?: GenerateOptions): Promise<Sample[]>
  /** Resolves at once if calls still write with it. */
  retire(held: HeldAdapter | undefined): Promise<void>
}

export function createAdapters({ run, backEnd, files, lines }: AdaptersParts): Adapters {
  let loads = 0
  let running = 0
  let idle = Promise.withResolvers<void>()

  const freeIfUnused = async ({ isRetired, users, adapter, file }: HeldAdapter): Promise<void> => {
    if (!isRetired || users > 0) return
    await adapter.release().catch(() => {})
    await files.remove(file).catch(() => {})
  }

  return {
    async load(version, weights) {
      if (backEnd.isExclusive) while (running > 0) await idle.promise
      const file = await files.write(`waggle-${run}-${++loads}-v${version}`, weights)
      try {
        return { version, file, adapter: await backEnd.load(file), users: 0, isRetired: false }
      } catch (error) {
        await files.remove(file).catch(() => {})
        throw error
      }
    },
    async write(held, request, options = {}) {
      const { temperature, stopTokens } = request
      const written = openLines(request, { ...lines(), version: held.version }, options)
      held.users += 1
      running += 1
      try {
        await held.adapter.write(written.lines, { temperature: temperature === 0 ? 0 : 1, stopTokens })
        return written.results()
      } finally {
        held.users -= 1
        running -= 1
        if (running === 0) {
          idle.resolve()
          idle = Promise.withResolvers()
        }
        void freeIfUnused(held)
      }
    },
    async retire(held) {
      if (!held || held.isRetired) return
      held.isRetired = true
      await freeIfUnused(held)
    },
  }
}
