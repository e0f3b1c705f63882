// Transfers files between two nodes: one user shares, the other fetches. A fetched file is only written to disk;
// nothing reads it until the user names it.

import { access, stat, statfs } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { publicKeyOf } from '../../../protocol/wire/index.ts'
import type { Swarm } from '../../swarm/index.ts'
import type { NodeControl } from './node.ts'

/** A fetch fails after this long without data. */
const SILENT_MS = 60_000

type FileSharing = Pick<NodeControl, 'share' | 'fetch'>

/** `peer` resolves an ID or a name, or throws. `secrets` are files that are never shared, under any name. */
export function createFileSharing(
  { silentMs = SILENT_MS, secrets = [] }: { silentMs?: number; secrets?: readonly string[] },
  { swarm, peer }: { swarm: () => Swarm; peer(name: string): string },
): FileSharing {
  return {
    async share({ path, to }) {
      absolute(path)
      await noSecret(path, secrets)
      const ids = to?.map(peer)
      const { id, size } = await swarm().offer({ path, ...(ids && { to: ids }) })
      return { source: `${swarm().peerId}/${id}`, bytes: size, ...(ids && { to: ids }) }
    },

    async fetch({ source, path }, { signal, onProgress } = {}) {
      const [from = '', id = '', ...rest] = source.trim().split('/')
      if (publicKeyOf(from) === undefined || !/^[0-9a-f]{64}$/.test(id) || rest.length > 0)
        throw new WaggleError(
          'E_PEER',
          `"${safeText(source, { limit: 120, line: true })}" is not a shared file`,
          {
            hint: 'Copy what `waggle send-file` printed on the other node: its peer ID, a slash, and 64 hex digits.',
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
        throw new WaggleError('E_PEER', `no data for ${Math.round(silentMs / 1000)} s`, {
          hint: 'The other node may be offline, may have been restarted, or may not share this with you. Try again: received data is kept.',
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
  throw new WaggleError('E_USAGE', 'the path must be absolute, because the node opens the file')
}

/** Users of the control API must not be able to copy the node's identity. Links to a secret are refused too. */
async function noSecret(path: string, secrets: readonly string[]): Promise<void> {
  const facts = await stat(path).catch(() => undefined)
  if (!facts) return
  for (const secret of secrets) {
    const other = await stat(secret).catch(() => undefined)
    if (!other || other.dev !== facts.dev || other.ino !== facts.ino) continue
    throw new WaggleError('E_USAGE', `${path} is a secret of this node and is not shared`, {
      hint: 'Whoever has the key can act as this node; tokens and swarm keys give access. If you must, copy it by hand.',
    })
  }
}

/** Free bytes on the disk of the file's folder. */
async function room(path: string): Promise<number> {
  const there = await access(path).then(
    () => true,
    () => false,
  )
  if (there) throw new WaggleError('E_STORE', `${path} already exists`, { hint: 'Choose another name.' })
  try {
    const { bavail, bsize } = await statfs(dirname(path))
    return bavail * bsize
  } catch (cause) {
    throw new WaggleError('E_STORE', `${dirname(path)} is not writable: ${(cause as Error).message}`, {
      hint: 'Choose a file in an existing folder.',
      cause,
    })
  }
}
