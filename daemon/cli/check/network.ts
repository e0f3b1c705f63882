// Checks the swarm's settings: addresses are valid, the key of a private swarm is readable, and keys do not conflict.

import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { multiaddr } from '@multiformats/multiaddr'
import type { Loaded } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'
import { loadMembership } from '../../swarm/join/membership.ts'
import { parsePsk } from '../../swarm/join/psk.ts'
import type { Context } from '../contract.ts'
import { attempt, problemAt } from './problem.ts'

export async function networkProblems(
  { paths }: Pick<Context, 'paths'>,
  { config, originOf }: Pick<Loaded, 'config' | 'originOf'>,
): Promise<Problem[]> {
  const { swarm } = config
  if (!swarm.enabled) return []
  const problems: Problem[] = []
  for (const key of ['listen', 'announce', 'bootstrap'] as const) {
    for (const [i, address] of swarm[key].entries())
      if (!isAddress(address))
        problems.push(
          problemAt(
            ['swarm', key, i],
            `"${address}" is not a multiaddr such as /ip4/0.0.0.0/tcp/4001`,
            originOf,
          ),
        )
  }
  const { key_file: keyFile } = swarm
  if (keyFile !== undefined) {
    const path = resolve(dirname(paths.config), keyFile)
    const text = await readFile(path, 'utf8').catch((cause: Error) => cause)
    const at = ['swarm', 'key_file']
    if (typeof text !== 'string') problems.push(problemAt(at, `cannot be read: ${text.message}`, originOf))
    else problems.push(...(await attempt(at, originOf, () => parsePsk(text))))
  }
  if (swarm.webrtc && (swarm.private || keyFile !== undefined))
    problems.push(
      problemAt(
        ['swarm', 'webrtc'],
        'a private swarm cannot use WebRTC: its key protects TCP only',
        originOf,
      ),
    )
  problems.push(
    ...(await attempt(['swarm', 'name'], originOf, async () => {
      const membership = await loadMembership(paths.membership)
      if (membership === undefined || swarm.name === undefined || membership.swarm === swarm.name) return
      problems.push(
        problemAt(
          ['swarm', 'name'],
          `this home belongs to the swarm "${membership.swarm}"; remove swarm.name, or leave that swarm first`,
          originOf,
        ),
      )
    })),
  )
  return problems
}

function isAddress(text: string): boolean {
  try {
    multiaddr(text)
    return true
  } catch {
    return false
  }
}
