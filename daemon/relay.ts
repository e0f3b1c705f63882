// A node that only relays: a contact that others find each other through, a relay for those behind NATs, and a STUN
// responder, with neither model nor training. The other composition root; what trains is in main.ts.

import { randomUUID } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { EXIT } from '../protocol/errors.ts'
import { peerName } from '../protocol/text.ts'
import { createEventLog } from './control/event-log.ts'
import { createLogFile } from './control/log-file.ts'
import type { NodeHandle, RunNode } from './control/node.ts'
import { createRelayControl } from './control/relay-control.ts'
import { startControlServer } from './control/server.ts'
import { openHome } from './store/home.ts'
import type { Log } from './store/log.ts'
import { nodeDisk as disk } from './store/node-disk.ts'
import { loadIdentity, openSwarm, publicAddresses } from './swarm/index.ts'
import { swarmOptions } from './swarm-config.ts'

const VERSION = '0.1.0'

/** Brings a relay up and returns once it listens. */
export const runNode: RunNode = async ({ config, paths, invite, onProgress }) => {
  const started = Date.now()
  const events = createEventLog({}, { clock: Date.now })
  const log: Log = (level, message, data) => {
    events.emit({ type: 'log', level, area: 'relay', message, ...(data ? { data } : {}) })
  }
  const closers: (() => Promise<unknown>)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse())
      await close().catch((error: unknown) => log('error', `closing: ${error}`))
  }
  try {
    const home = await openHome(
      { directory: paths.state, store: paths.store, lock: paths.lock },
      { disk, clock: Date.now, log, self: { pid: process.pid, host: hostname() } },
    )
    closers.push(() => home.release())
    const logFile = createLogFile({ path: paths.logFile }, { events })
    closers.push(() => logFile.close())
    const identity = await loadIdentity({ path: paths.identity })

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
        clock: {
          now: Date.now,
          after(ms, run) {
            const timer = setTimeout(run, ms)
            return () => clearTimeout(timer)
          },
        },
        log,
        // It passes on groups of tasks that it does not have, and trains on none.
        tasks: { find: () => undefined },
        codec: NO_CODEC,
        version: () => 0,
        onEvent(event) {
          if (event.type === 'notice') control.alert({ level: 'notice', ...event })
          else if (event.type === 'over') control.clearAlert(event.key)
          else if (event.type !== 'group') events.emit(event)
        },
        random: Math.random,
      },
    )
    closers.push(opened.close)

    const stopped = Promise.withResolvers<number>()
    const control = createRelayControl(
      {
        node: {
          name: config.node.name ?? peerName(identity.peerId),
          peerId: identity.peerId,
          version: VERSION,
          pid: process.pid,
          startedAt: started,
          home: {
            config: paths.config,
            state: paths.state,
            checkpoints: paths.checkpoints,
            logs: paths.logs,
            socket: paths.socket,
          },
        },
      },
      {
        swarm: opened.swarm,
        events,
        now: Date.now,
        async stop() {
          await closeAll()
          // The answer to `stop` travels over the server, so that is closed last.
          setImmediate(() => void server.close().then(() => stopped.resolve(EXIT.ok), stopped.reject))
        },
      },
    )
    const server = await startControlServer(
      {
        socket: paths.socket,
        run: randomUUID(),
        tcp: config.control.listen
          ? {
              listen: config.control.listen,
              public: config.control.public,
              readTokenFile: paths.readToken,
              adminTokenFile: paths.adminToken,
            }
          : undefined,
      },
      { node: control, clock: Date.now },
    )
    events.emit({ type: 'state', state: 'RELAYING' })
    return { ...control, whenStopped: stopped.promise } satisfies NodeHandle
  } catch (error) {
    await closeAll()
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
