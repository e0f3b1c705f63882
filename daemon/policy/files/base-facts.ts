// What a model says about itself: its name and its licence, for the record of what was trained from it.

import { basename, join } from 'node:path'
import { safeText } from '../../../protocol/text.ts'
import type { Disk } from '../../store/disk.ts'
import { openGguf } from '../gguf/read.ts'
import { hubNameOf } from '../sources/reference.ts'

export interface BaseFacts {
  /** The publisher's name for it, or that of the folder or file; never a path. */
  title?: string
  /** The licence's identifier, such as apache-2.0. */
  license?: string
}

const MAX_README_BYTES = 64 * 1024

/** `name` is as in the config. Never rejects: what cannot be read is absent. */
export async function baseFacts(
  { name, directory }: { name: string; directory: string },
  { disk }: { disk: Disk },
): Promise<BaseFacts & { title: string }> {
  const { title, license } = await factsOf(directory, disk).catch((): BaseFacts => ({}))
  const short = title ?? basename(directory).replace(/\.gguf$/i, '')
  return {
    title: name === 'default' ? "Waggle's default model" : (hubNameOf(name) ?? short),
    ...(license === undefined ? {} : { license }),
  }
}

async function factsOf(directory: string, disk: Disk): Promise<BaseFacts> {
  const kind = (await disk.stat(await disk.realPath(directory)))?.kind
  return await (kind === 'file' ? ofGguf(directory, disk) : ofFolder(directory, disk))
}

async function ofGguf(path: string, disk: Disk): Promise<BaseFacts> {
  const file = await openGguf({ path }, { disk })
  try {
    const text = (key: string): string | undefined => {
      const value = file.metadata.get(key)
      return typeof value === 'string' && value.trim() !== ''
        ? safeText(value.trim(), { limit: 100, line: true })
        : undefined
    }
    const [title, license] = [text('general.name'), text('general.license')]
    return { ...(title ? { title } : {}), ...(license ? { license: license.toLowerCase() } : {}) }
  } finally {
    await file.close()
  }
}

/** From the metadata at the top of README.md, as on the hub. */
async function ofFolder(directory: string, disk: Disk): Promise<BaseFacts> {
  const file = await disk.open(join(directory, 'README.md'), 'read')
  try {
    const bytes = new Uint8Array(MAX_README_BYTES)
    const text = Buffer.from(bytes.subarray(0, await file.read(bytes, 0))).toString('utf8')
    const head = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? ''
    const license = /^license:[ \t]*["']?([A-Za-z0-9][\w.+-]{0,63})["']?[ \t]*\r?$/m.exec(head)?.[1]
    return license === undefined ? {} : { license: license.toLowerCase() }
  } finally {
    await file.close()
  }
}
