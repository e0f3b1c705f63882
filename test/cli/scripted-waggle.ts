// The real command line around a scripted node with a real control socket: what `waggle` does, without the training.
// Run as a subprocess by the tests.

import { start } from '../../daemon/cli/start.ts'
import { startControlServer } from '../../daemon/control/api/server.ts'
import { createScriptedNode } from '../control/scripted-node.ts'

await start({
  program: 'waggle',
  loadNode: async () => ({
    async runNode({ paths }) {
      const node = createScriptedNode({ socket: paths.socket, state: paths.state, clock: Date.now })
      node.advance(120)
      const server = await startControlServer(
        { socket: paths.socket, run: String(process.pid) },
        { node, clock: Date.now },
      )
      const timer = setInterval(() => node.advance(1), Number(process.env.STEP_MS ?? 200))
      const whenStopped = node.whenStopped.then(async (status) => {
        clearInterval(timer)
        await server.close()
        return status
      })
      return Object.assign(node, { whenStopped })
    },
  }),
})
