// A node that only relays: a contact that others find each other through, a relay for those behind NATs, and a STUN
// responder, with neither model nor training. The other composition root; what trains is in main.ts.

import { randomUUID } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { EXIT } from '../protocol/errors.ts'
import type { RunNode } from './control/node/node.ts'
import { createRelayControl } from './control/node/relay-control.ts'
import { beginNode } from './node/begin.ts'
import { nodeFacts } from './node/facts.ts'
import { openNodeHome } from './node/home.ts'
import { openPeerStore } from './node/peer-store.ts'
import { secretFiles } from './node/secrets.ts'
import { type Served, serveControl } from './node/serve.ts'
import { type Clock, openSwarm, publicAddresses } from './swarm/index.ts'
import { swarmOptions } from './wiring/swarm-config.ts'

/** Brings a relay up and returns once it listens. */
export const runNode: RunNode = async ({ config, paths, invite, onProgress }) => {
  const now = Date.now
  const startedAt = now()
  const begun = beginNode({ area: 'relay' }, { now })
  const { events, log, closers } = begun
  const clock: Clock = {
    now,
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  }
  try {
    const { identity } = await openNodeHome({ paths, pid: process.pid, host: hostname() }, { ...begun, now })
    const { peerId } = identity

    onProgress({ message: 'starting the network' })
    const options = swarmOptions(config, paths)
    const opened = await openSwarm(
      {
        ...options,
        invite,
        relay: true,
        // An address on the internet is not given out by itself before other nodes have confirmed it, and they only come
        // if they are given one.
        announce: [...(options.announce ?? []), ...publicAddresses(options.listen, networkInterfaces())],
      },
      {
        identity,
        clock,
        openPeers: (at) => openPeerStore(at, { log, clock }),
        log,
        // It passes on groups of tasks that it does not have, and trains on none.
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
    )
    closers.add(opened.close)

    const control = createRelayControl(
      {
        node: nodeFacts({ name: config.node.name, peerId, pid: process.pid, startedAt, paths }),
        secrets: secretFiles(config, paths),
      },
      {
        swarm: opened.swarm,
        events,
        now,
        async stop() {
          await closers.closeAll()
          served.finish(EXIT.ok)
        },
      },
    )
    const served: Served = await serveControl(
      { paths, control: config.control, run: randomUUID() },
      { node: control, now },
    )
    events.emit({ type: 'state', state: 'RELAYING' })
    return served.handle
  } catch (error) {
    await closers.closeAll()
    throw error
  }
}

/** Never asked: no task is found, so nothing is verified. */
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
