// Servers of environments for scripts, and what a node says of the episodes that it plays with them.

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type NodeProcess, startNode } from '../lab/nodes/process.ts'

/** Starts an HTTP server, which ends with this process, and waits until it answers on `port`. */
export async function serve(
  port: number,
  [command, ...args]: [string, ...string[]],
  cwd?: string,
): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...(cwd ? { cwd } : {}) })
  process.once('exit', () => child.kill('SIGKILL'))
  for (let i = 0; i < 1500; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
    if (response) return child
    await sleep(200)
  }
  throw new Error(`no server on port ${port}`)
}

/** A node without a swarm that trains on these environments alone; each is a table of TOML. */
export async function startPlayer(home: string, ...environments: readonly string[]): Promise<NodeProcess> {
  const settings = {
    environments: `[${environments.join(', ')}]`,
    tasks: '[]',
    'model.path': 'models/three-tasks',
    'training.batch_groups': '8',
    'training.method': 'full',
    'training.learning_rate': '0.0002',
    'training.warm_up_steps': '0',
  }
  return await startNode(home, [
    '--no-swarm',
    ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
  ])
}

/** Prints steps, mean rewards and episodes of a node that plays environments. */
export async function tell(
  node: NodeProcess,
  /** Of performance.now(). */
  started: number,
): Promise<void> {
  const { training, agents } = await node.snapshot()
  const rewards = Object.entries(training?.taskAccuracy ?? {}).map(
    ([name, value]) => `${name} ${value.toFixed(3)}`,
  )
  const { rewarded, groups, dropped, environments = [] } = agents!
  console.log(
    `${((performance.now() - started) / 1000).toFixed(0)} s`,
    `step ${training?.step ?? 0}`,
    rewards.join(' '),
    `${rewarded} episodes, ${groups} groups`,
    JSON.stringify(dropped),
    environments.flatMap(({ trouble }) => trouble ?? []).join(),
  )
}
