// The control server of a node, which is the last thing to go: the answer to `stop` travels over it.

import type { Paths } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { NodeControl, NodeHandle } from '../control/node.ts'
import { startControlServer } from '../control/server.ts'

export interface Served {
  handle: NodeHandle
  /** The node is down: once what is being answered has been sent, the server closes, and `whenStopped` resolves. */
  finish(status: number): void
}

/** `run` names this run of the node. */
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
