// The composition root of a node: opens all parts, connects them, starts the loops, and closes everything in reverse
// order. The clock, randomness and facts about the machine are read here and passed on. The parts are put together in
// `node/assembly`.

import { randomBytes } from 'node:crypto'
import { homedir, hostname } from 'node:os'
import { createLiveConfig } from './config/live.ts'
import { hash32 } from './host/random.ts'
import type { Machine, NodeContext } from './node/assembly/context.ts'
import { openNodeControl } from './node/assembly/control.ts'
import { openLearning } from './node/assembly/learning.ts'
import { openPlugins } from './node/assembly/plugins.ts'
import { openTrained } from './node/assembly/policy.ts'
import { openRecords } from './node/assembly/records.ts'
import { openStore } from './node/assembly/store.ts'
import { startWork } from './node/assembly/work.ts'
import { surviveStreamErrors } from './node/facts/stream-errors.ts'
import type { Root } from './node/start/start.ts'
import { after, sleep } from './platform/index.ts'
import { createWaker } from './rollout/waker.ts'

const machine = (): Machine => ({
  now: Date.now,
  monotonic: () => performance.now(),
  ...{ after, sleep, random: Math.random, randomBytes, fetch },
  ...{ env: process.env, homedir: homedir(), hostname: hostname(), pid: process.pid },
})

export const run: Root = async (options, started) => {
  const { log, closers, identity } = started
  const live = createLiveConfig(options.config)
  const self = identity.peerId
  const context: NodeContext = {
    ...{ options, started, machine: machine(), settings: live.settings, self },
    seed: options.config.node.seed ?? hash32(0, self),
    changed: createWaker(),
    late: {
      core: undefined,
      swarm: undefined,
      tellTrouble: ({ name, message }) => log('warn', `${name}: ${message}`),
      notice: (message) => log('warn', `engine: ${message}`),
      tellState() {},
    },
  }
  closers.add(surviveStreamErrors({ log }))
  const store = await openStore(context)
  const plugins = await openPlugins(context)
  const trained = await openTrained(context, { ...store, ...plugins })
  const records = await openRecords(context, { ...plugins, ...trained })
  const opened = { ...store, ...plugins, ...trained, ...records }
  const learning = await openLearning(context, opened)
  const work = await startWork(context, { ...opened, ...learning })
  const control = openNodeControl(context, live, { ...opened, ...learning, ...work })
  context.late.tellState = learning.state.tell
  context.late.tellState()
  return control
}
