// The control server of a node. It opens first, so that a node that is still starting answers as well, and closes last,
// since it sends the answer to `stop`.

import type { Phases, Snapshot } from '../../../protocol/api/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import { startControlServer } from '../../control/api/server.ts'
import type { EventSource, NodeControl, NodeHandle } from '../../control/node/node.ts'
import { createStartingControl } from '../../control/node/starting-control.ts'

export interface ServeOptions {
  paths: Paths
  control: Config['control']
  /** Identifies this run of the node. */
  run: string
  node: Snapshot['node']
}

export interface ServeParts {
  events: EventSource
  now(): number
  phases: Pick<Phases, 'list'>
  /** Asks the start to end. */
  interrupt(): void
}

export interface Served {
  /** Call when the node is up: from now on, `control` answers. */
  isUp(control: NodeControl): NodeHandle
  /** Call when the start has ended without a node. */
  abandon(): Promise<void>
  /** Call when the node is down: sends pending answers, closes the server and resolves `whenStopped`. */
  finish(status: number): void
}

export async function serveControl(
  { paths, control: { listen, public: isPublic }, run, node }: ServeOptions,
  { events, now, phases, interrupt }: ServeParts,
): Promise<Served> {
  const started = Promise.withResolvers<NodeControl | undefined>()
  let current = createStartingControl(
    { node },
    {
      ...{ events, now, phases },
      async stop() {
        interrupt()
        // The interruption may come too late.
        await (await started.promise)?.stop()
      },
    },
  )
  /** Whatever answers at the moment. */
  const answering = new Proxy(current, { get: (_, name) => current[name as keyof NodeControl] })
  const server = await startControlServer(
    {
      socket: paths.socket,
      run,
      tcp: listen
        ? {
            listen,
            public: isPublic,
            readTokenFile: paths.readToken,
            adminTokenFile: paths.adminToken,
          }
        : undefined,
    },
    { node: answering, clock: now },
  )
  const stopped = Promise.withResolvers<number>()
  return {
    isUp(control) {
      current = control
      started.resolve(control)
      return { ...control, whenStopped: stopped.promise }
    },
    async abandon() {
      started.resolve(undefined)
      // The answer to `stop` goes out before the server closes.
      await new Promise((resolve) => setImmediate(resolve))
      await server.close()
    },
    finish(status) {
      setImmediate(() => void server.close().then(() => stopped.resolve(status), stopped.reject))
    },
  }
}
