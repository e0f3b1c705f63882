// Files between two nodes whose people both want it: one shares, the other fetches. What is fetched is a file and no more;
// nothing in this program reads it until a person names it.

import { access, statfs } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { safeText } from '../../protocol/text.ts'
import { publicKeyOf } from '../../protocol/wire/index.ts'
import type { Swarm } from '../swarm/index.ts'
import type { NodeControl } from './node.ts'

/** Without a byte for so long, whoever asked is told. */
const SILENT_MS = 60_000

export type FileSharing = Pick<NodeControl, 'share' | 'fetch'>

/** `peer` finds an ID by ID or name, or throws. */
export function createFileSharing(
  { silentMs = SILENT_MS }: { silentMs?: number },
  { swarm, peer }: { swarm: () => Swarm; peer(name: string): string },
): FileSharing {
  return {
    async share({ path, to }) {
      absolute(path)
      const { id, size } = await swarm().offer({ path, ...(to && { to: to.map(peer) }) })
      return { source: `${swarm().peerId}/${id}`, bytes: size }
    },

    async fetch({ source, path }, { signal, onProgress } = {}) {
      const [from = '', id = '', ...rest] = source.trim().split('/')
      if (publicKeyOf(from) === undefined || !/^[0-9a-f]{64}$/.test(id) || rest.length > 0)
        throw new WaggleError(
          'E_PEER',
          `"${safeText(source, { limit: 120, line: true })}" names no shared file`,
          {
            hint: 'Copy what `waggle share` printed on the other node: its peer ID, a slash, and 64 hex digits.',
          },
        )
      absolute(path)
      const maxBytes = await room(path)
      const silence = new AbortController()
      let timer = setTimeout(() => silence.abort(), silentMs)
      let told = -1
      try {
        const { bytes, resumed } = await swarm().download({
          id,
          from,
          path,
          maxBytes,
          signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal,
          onProgress(at) {
            clearTimeout(timer)
            timer = setTimeout(() => silence.abort(), silentMs)
            const percent = Math.floor((100 * at.bytes) / at.size)
            if (percent > told) onProgress?.({ message: `${percent} %`, fraction: at.bytes / at.size })
            told = percent
          },
        })
        return { path, bytes, resumed }
      } catch (cause) {
        if (!silence.signal.aborted) throw cause
        throw new WaggleError('E_PEER', `nothing came for ${Math.round(silentMs / 1000)} s`, {
          hint: 'The other node may be away, may have stopped since, or may not share this with you. Ask again: what has come is kept.',
          cause,
        })
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

function absolute(path: string): void {
  if (isAbsolute(path)) return
  throw new WaggleError('E_USAGE', 'the path must be an absolute one, since it is the node that opens it')
}

/** Bytes that fit where the file goes. */
async function room(path: string): Promise<number> {
  const there = await access(path).then(
    () => true,
    () => false,
  )
  if (there)
    throw new WaggleError('E_STORE', `${path} is there already`, { hint: 'Give a name that is not in use.' })
  try {
    const { bavail, bsize } = await statfs(dirname(path))
    return bavail * bsize
  } catch (cause) {
    throw new WaggleError('E_STORE', `${dirname(path)} cannot be written to: ${(cause as Error).message}`, {
      hint: 'Give a file in a folder that exists.',
      cause,
    })
  }
}
