// The node's secret files, which are never shared.

import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import { swarmOptions } from '../../wiring/swarm-config.ts'

export function secretFiles(config: Config, paths: Paths): string[] {
  const { keyFile } = swarmOptions(() => config, paths)
  const { identity, membership, readToken, adminToken, agentsToken, serveKey } = paths
  return [
    identity,
    membership,
    readToken,
    adminToken,
    agentsToken,
    serveKey,
    ...(keyFile === undefined ? [] : [keyFile]),
  ]
}
