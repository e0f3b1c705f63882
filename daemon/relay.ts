// A node that only relays, without a model or training: a contact through which others find each other, a relay for
// nodes behind NATs, and a STUN responder. This is the second composition root; main.ts is the one for nodes that
// train.

import { networkInterfaces } from 'node:os'
import { EXIT } from '../protocol/errors.ts'
import { createRelayControl } from './control/node/relay-control.ts'
import { openPeerStore } from './node/home/peer-store.ts'
import { secretFiles } from './node/home/secrets.ts'
import type { Root } from './node/start/start.ts'
import { after } from './platform/index.ts'
import { type Clock, openSwarm, publicAddresses } from './swarm/index.ts'
import { swarmOptions } from './wiring/swarm-config.ts'

/** Starts a relay and returns once it listens. */
export const run: Root = async (
  { config, paths, invite },
  { identity, node, finish, phases, events, log, closers },
) => {
  const now = Date.now
  const clock: Clock = { now, after }
  const options = swarmOptions(() => config, paths)
  const opened = await phases.run('network', {}, () =>
    openSwarm(
      {
        ...options,
        invite,
        relay: true,
        // libp2p announces a public address only after other nodes have confirmed it, but to do so they need an address
        // to dial.
        announce: [...(options.announce ?? []), ...publicAddresses(options.listen, networkInterfaces())],
      },
      {
        identity,
        clock,
        openPeers: (at) => openPeerStore(at, { log }),
        log,
        // A relay forwards groups of tasks that it does not have, and trains on none.
        tasks: { find: () => undefined },
        codec: NO_CODEC,
        version: () => 0,
        onGroup: () => {},
        onEvent(event) {
          if (event.type === 'notice') control.alert({ level: 'notice', ...event })
          else if (event.type === 'over') control.clearAlert(event.key)
          else events.emit(event)
        },
        random: Math.random,
      },
    ),
  )
  closers.add(opened.close)

  const control = createRelayControl(
    {
      node,
      secrets: secretFiles(config, paths),
    },
    {
      swarm: opened.swarm,
      events,
      now,
      async stop() {
        await closers.closeAll()
        finish(EXIT.ok)
      },
    },
  )
  events.emit({ type: 'state', state: 'RELAYING' })
  return control
}

/** Never called: a relay has no tasks, so it verifies nothing. */
const unused = (): never => {
  throw new Error('a relay has no tokenizer')
}
const NO_CODEC = {
  tokenizer: '00'.repeat(32),
  stopTokens: [],
  encodePrompt: unused,
  encodeReply: unused,
  encodeCompletion: unused,
  decodeCompletion: unused,
}
