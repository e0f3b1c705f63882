// Turns the config into options of the swarm, for both composition roots.

import { dirname, join, resolve } from 'node:path'
import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { OpenSwarmOptions } from '../swarm/index.ts'

export function swarmOptions(
  settings: () => Pick<Config, 'swarm' | 'model' | 'limits'>,
  paths: Pick<Paths, 'config' | 'state' | 'membership'>,
): Omit<OpenSwarmOptions, 'tasks' | 'invite'> {
  const { swarm, model } = settings()
  return {
    name: swarm.name,
    private: swarm.private,
    // Relative to the config file, like every path in it.
    keyFile: swarm.key_file && resolve(dirname(paths.config), swarm.key_file),
    membership: paths.membership,
    peers: join(paths.state, 'peers'),
    ...(swarm.allow && { allow: swarm.allow }),
    listen: swarm.listen,
    announce: swarm.announce,
    bootstrap: swarm.bootstrap,
    lan: swarm.lan,
    wide: swarm.wide,
    upnp: swarm.upnp,
    relay: swarm.relay,
    webrtc: swarm.webrtc,
    stun: swarm.stun,
    ...(swarm.stun_port > 0 && { stunPort: swarm.stun_port }),
    stateMinutes: swarm.state_minutes,
    maxConnections: swarm.max_connections,
    limits: () => settings().limits,
    headBytesPerHour: () => settings().limits.weights_mb_per_hour * 1e6,
    maxCompletionTokens: model.max_completion_tokens,
  }
}
