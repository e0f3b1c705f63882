// G13, the memory part: what a real node holds for each of many strangers, while they are connected and when they have left.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { draft, startNode, stopNodes, until } from '../../../test/swarm/helpers.ts'
import { publish, signedGroup, startAttacker } from '../../../test/swarm/hostile/attacker.ts'
import type { Row } from '../row.ts'

const GROUPS = 4

/** Heap and buffers after garbage collection, in bytes. */
async function memory(): Promise<number> {
  if (!globalThis.gc) throw new Error('run node with --expose-gc')
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    await sleep(100)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

export async function knownPeers({ count }: { count: number }): Promise<Row> {
  const victim = await startNode()
  const meet = async (peers: number, first: number): Promise<ReturnType<typeof fork>> => {
    const known = victim.swarm.counters().known
    const crowd = fork(import.meta.filename, [victim.address, String(peers), String(first)])
    await until('all are known', () => victim.swarm.counters().known >= known + peers, 300_000)
    await once(crowd, 'message')
    return crowd
  }
  const leave = async (crowd: ReturnType<typeof fork>): Promise<void> => {
    crowd.kill('SIGKILL')
    await until('they are gone', () => victim.swarm.counters().connected === 0, 60_000)
  }
  // What is loaded and compiled for the first ones is not counted.
  await leave(await meet(10, 0))
  const before = await memory()
  const crowd = await meet(count, 1000)
  await sleep(3000)
  const during = await memory()
  const { connected } = victim.swarm.counters()
  await leave(crowd)
  // gossipsub forgets peers in its own time.
  await sleep(30_000)
  const after = await memory()
  await stopNodes()
  const [open, known] = [(during - before) / connected / 1024, (after - before) / count / 1024]
  return {
    goal: 'G13',
    tried: `${count} strangers, ${connected} connected at once, ${GROUPS} groups of each`,
    result: `${open.toFixed(0)} KiB for each while connected, ${known.toFixed(1)} KiB for each known one afterwards`,
    control: 'none: there is nothing to turn off',
    isMet: known <= 32,
  }
}

/** The crowd, in a process of its own. */
if (process.send) {
  const [address, count, first] = [process.argv[2]!, Number(process.argv[3]), Number(process.argv[4])]
  for (let i = 0; i < count; i++) {
    const attacker = await startAttacker(address)
    for (let group = 0; group < GROUPS; group++)
      await publish(attacker, signedGroup(draft(first + GROUPS * i + group, { salt: `by ${i}` })))
  }
  process.send('done')
}
