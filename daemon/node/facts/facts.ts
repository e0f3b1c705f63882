// The node section of a snapshot: name, ID, version, paths.

import type { Snapshot } from '../../../protocol/api/index.ts'
import { VERSION } from '../../../protocol/package.ts'
import { peerName } from '../../../protocol/text.ts'
import type { Paths } from '../../config/paths.ts'

interface FactsOptions {
  /** From the config. */
  name: string | undefined
  peerId: string
  pid: number
  /** ms since the epoch. */
  startedAt: number
  paths: Paths
}

export function nodeFacts({ name, peerId, pid, startedAt, paths }: FactsOptions): Snapshot['node'] {
  return {
    name: name ?? peerName(peerId),
    peerId,
    version: VERSION,
    pid,
    startedAt,
    home: {
      config: paths.config,
      state: paths.state,
      checkpoints: paths.checkpoints,
      logs: paths.logs,
      socket: paths.socket,
    },
  }
}
