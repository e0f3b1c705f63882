// Serves Tinker's API without a node: a model that other programs on this machine train.

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { nameForClients } from '../../agents/index.ts'
import { KEY_PREFIX, openTinker } from '../../agents/tinker/server.ts'
import type { Config } from '../../config/schema.ts'
import { tokenOf } from '../../http/index.ts'
import { openModel } from '../../library/open.ts'
import { after } from '../../platform/index.ts'
import { modelSource } from '../../policy/files/model-source.ts'
import { writeFileWhole } from '../../store/atomic.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../contract.ts'
import { locateModel } from './locate.ts'
import { DEFAULT_LISTEN } from './serve-model.ts'

export interface ServedTinker {
  url: string
  /** The names by which clients ask for the model. */
  names: readonly string[]
  /** What the client's key begins with. */
  prefix: string
  close(): Promise<void>
}

export async function serveTinker(context: Context, config: Config): Promise<ServedTinker> {
  const { io, options, paths, say } = context
  const { threads, device } = config.engine
  const found = await locateModel(context, config.model.path)
  const directory = join(paths.state, 'tinker')
  const tokenizer = await tokenizerFolder(found.directory, join(directory, 'tokenizer'))
  // As it was typed, too: programs may look for a tokenizer in a folder of that name.
  const typed = typeof options.model === 'string' ? [options.model] : []
  const names = [...new Set([nameForClients(found.name), ...typed, found.name, tokenizer])]
  const { url, close } = await openTinker(
    { listen: config.serve.listen ?? DEFAULT_LISTEN, directory: join(directory, 'runs'), names, tokenizer },
    {
      ...{ after, randomBytes, now: Date.now },
      key: () => tokenOf(paths.serveKey),
      log: (_, message) => say(message),
      open: (how) =>
        openModel(found.directory, {
          ...{ ...how, device, base: io.cwd, onNotice: say },
          ...(threads > 0 ? { threads } : {}),
        }),
    },
  )
  return { url, names, prefix: KEY_PREFIX, close }
}

/**
 * A folder from which transformers loads the tokenizer: that of the model, or for a GGUF file one that is written. Clients
 * on this machine need no hub then.
 */
async function tokenizerFolder(model: string, made: string): Promise<string> {
  const source = await modelSource(model, { disk })
  if (!model.endsWith('.gguf')) return model
  mkdirSync(made, { recursive: true })
  for (const [file, content] of await source.copies())
    await writeFileWhole({ path: join(made, file), content }, { disk })
  return made
}
