// The control server of a node. It closes last, since it sends the answer to `stop`.

import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { startControlServer } from '../control/api/server.ts'
import type { NodeControl, NodeHandle } from '../control/node/node.ts'

export interface Served {
  handle: NodeHandle
  /** Call when the node is down: sends pending answers, closes the server and resolves `whenStopped`. */
  finish(status: number): void
}

/** `run` identifies this run of the node. */
export async function serveControl(
  {
    paths,
    control: { listen, public: isPublic },
    run,
  }: { paths: Paths; control: Config['control']; run: string },
  { node, now }: { node: NodeControl; now(): number },
): Promise<Served> {
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
    { node, clock: now },
  )
  const stopped = Promise.withResolvers<number>()
  return {
    handle: { ...node, whenStopped: stopped.promise },
    finish(status) {
      setImmediate(() => void server.close().then(() => stopped.resolve(status), stopped.reject))
    },
  }
}
