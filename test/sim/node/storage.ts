// What a life keeps on its disk: checkpoints, the database, and what libp2p remembers. The checks hear of every checkpoint.

import type { Key } from 'interface-datastore'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { type Checkpoints, createCheckpoints } from '../../../daemon/store/checkpoints/checkpoints.ts'
import { type LevelStore, openDatabase } from '../../../daemon/store/database/database.ts'
import type { Disk } from '../../../daemon/store/disk.ts'
import { openPeerDatastore } from '../../../daemon/swarm/libp2p/datastore.ts'
import { restoreNode } from '../../../daemon/trainer/checkpoints/checkpointing.ts'
import type { SimulatedDisk } from '../../store/simulated-disk.ts'
import { createLogLevel } from '../log-level.ts'
import { model, SPEC, skillOf } from '../policy.ts'
import { type Life, nodeDisk } from './disk.ts'
import type { Lasting } from './lasting.ts'
import type { Times } from './times.ts'

export type Storage = Awaited<ReturnType<typeof openStorage>>

export async function openStorage(
  { life, disk }: { life: Life; disk: SimulatedDisk },
  {
    node,
    times,
    weights,
  }: {
    node: Lasting
    times: Times
    /** The trainer's. */
    weights(): Promise<Weights>
  },
) {
  const { world, random, weather, planted } = node
  const { clock, after, log } = times
  const port: Disk = nodeDisk(
    {
      disk,
      life,
      trouble: () => weather.disk,
      onStep() {
        if (--weather.stepsToLive <= 0) node.kill(true)
      },
    },
    { world, random },
  )
  const levelOf = (directory: string): LevelStore => {
    const level = createLogLevel({ directory }, { disk: port })
    return planted.level?.(level) ?? level
  }
  const stored = await createCheckpoints(
    { directory: '/home/checkpoints' },
    { disk: port, clock: clock.now, log },
  )
  const checkpoints = watchedCheckpoints(stored, { life, node, weights })
  const database = await openDatabase(
    { directory: '/home/store' },
    { log, levelOf, later: (run, ms) => after(ms, run) },
  )
  const datastore = await openPeerDatastore({ path: '/home/peers' }, { levelOf: levelOf as never, after })
  const restored = await restoreNode({ lineage: model.digest, spec: SPEC }, { checkpoints, disk: port })
  watchMemory(datastore, { life, node })
  return { port, checkpoints, database, datastore, restored }
}

function watchedCheckpoints(
  stored: Checkpoints,
  {
    life,
    node: { name, world, checks },
    weights,
  }: { life: Life; node: Lasting; weights(): Promise<Weights> },
): Checkpoints {
  return {
    ...stored,
    async save(asked) {
      checks.saving(asked.policyVersion, skillOf(await weights()))
      const made = await stored.save(asked)
      if (life.isAlive) checks.saved(made.manifest.sequence)
      world.note(`${name} saved ${made.manifest.sequence} of version ${asked.policyVersion}`)
      return made
    },
    discardAfter(sequence) {
      checks.discarding(sequence)
      return stored.discardAfter(sequence)
    },
  }
}

/** The checks hear of what the node remembers of its peers. */
function watchMemory(
  datastore: Awaited<ReturnType<typeof openPeerDatastore>>,
  { life, node: { checks } }: { life: Life; node: Lasting },
): void {
  const put = datastore.put.bind(datastore)
  datastore.put = async (key, value, options) => {
    let done: Key
    try {
      done = await put(key, value, options)
    } catch (error) {
      checks.quotaLost()
      throw error
    }
    if (life.isAlive && key.toString() === '/waggle/memory')
      checks.banned(JSON.parse(new TextDecoder().decode(value)).standing.entries)
    return done
  }
}
