// The first second of a daemon: locks its home and opens its control server. Then it loads the rest of the program,
// which takes seconds, while it already answers whoever asks.

import { createPhases, type Phases, type Snapshot } from '../../../protocol/api/index.ts'
import type { NodeControl, RunNode, RunOptions } from '../../control/node/node.ts'
import type { Home } from '../../store/home.ts'
import type { Identity } from '../../swarm/peers/identity.ts'
import { type Begun, beginNode } from '../begin.ts'
import { nodeFacts } from '../facts/facts.ts'
import { tellPhases } from '../facts/tell-phases.ts'
import { openNodeHome } from '../home/open.ts'
import { type Served, serveControl } from './serve.ts'

/** What a composition root begins with. */
export interface Started extends Begun {
  phases: Phases
  home: Home
  identity: Identity
  node: Snapshot['node']
  /** Call when everything else is down; see Served. */
  finish(status: number): void
}

/** A composition root: puts a node together. If it fails, what it added to `closers` is closed. */
export type Root = (options: RunOptions, started: Started) => Promise<NodeControl>

interface StartOptions {
  /** Labels the log lines. */
  area: string
  pid: number
  host: string
  /** Identifies this run of the node. */
  run: string
}

interface StartParts {
  load(): Promise<{ run: Root }>
  now(): number
  monotonic(): number
  after(ms: number, run: () => void): () => void
}

export function startBy(
  { area, pid, host, run }: StartOptions,
  { load, now, monotonic, after }: StartParts,
): RunNode {
  return async (options) => {
    const { config, paths, signal, interrupt, onProgress } = options
    const startedAt = now()
    const begun = beginNode({ area }, { now })
    const phases = createPhases({ now: monotonic })
    const stopTelling = tellPhases({ phases, onProgress }, { after })
    let served: Served | undefined
    try {
      onProgress({ message: 'opening the home' })
      const { home, identity } = await openNodeHome({ paths, pid, host }, { ...begun, now })
      const { name } = config.node
      const node = nodeFacts({ name, peerId: identity.peerId, pid, startedAt, paths })
      served = await serveControl(
        { paths, control: config.control, run, node },
        { events: begun.events, now, phases, interrupt },
      )
      onProgress({ message: 'loading the program' })
      const root = await phases.run('program', {}, load)
      signal.throwIfAborted()
      const { finish } = served
      return served.isUp(await root.run(options, { ...begun, phases, home, identity, node, finish }))
    } catch (error) {
      await begun.closers.closeAll()
      await served?.abandon()
      throw error
    } finally {
      stopTelling()
    }
  }
}
