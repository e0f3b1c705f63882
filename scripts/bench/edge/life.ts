// The life of a node on a small machine, in a control group: it starts, trains, a node outside joins it, each gets the
// other's groups, it saves a checkpoint, is killed, and goes on where it was. Needs Linux with cgroup v1, root, and
// `npm run build`.
//
//   node --import tsx scripts/bench/edge/life.ts [--memory 512] [--cores 1] [--set key=value]
//
// --memory in MiB; --set is for the node in the group. Prints a JSON line for each part of its life.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createCgroup } from './cgroup.ts'
import { isTraining, megabytes, startEdgeNode } from './node.ts'

const { values } = parseArgs({
  options: {
    memory: { type: 'string', default: '512' },
    cores: { type: 'string', default: '1' },
    set: { type: 'string', multiple: true, default: [] },
    program: { type: 'string' },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'waggle-life-'))
const group = createCgroup({
  name: `waggle-life-${process.pid}`,
  memoryBytes: Number(values.memory) * 2 ** 20,
  cores: Number(values.cores),
})
const program = values.program ? { program: values.program } : {}
const small = { home: join(folder, 'small'), set: values.set, procs: group.procs, ...program }
const tell = (part: string, facts: object = {}): void => {
  const { anonymousBytes, cachedBytes, peakBytes, atLimit, oomKills } = group.memory()
  console.log(
    JSON.stringify({
      part,
      ...facts,
      anonymous: megabytes(anonymousBytes),
      cached: megabytes(cachedBytes),
      peak: megabytes(peakBytes),
      ...{ atLimit, oomKills },
      cpuSeconds: Math.round(group.cpu().seconds * 10) / 10,
    }),
  )
}

let node = startEdgeNode(small)
const { swarm, engine } = await node.until('up', () => true)
const target = swarm?.addresses.find((address) => address.includes('/127.0.0.1/'))
if (target === undefined) throw new Error('the node has no address on this machine')
tell('up', { seconds: node.seconds(), threads: engine?.threads })
await node.until('a first step', isTraining)
tell('first step', { seconds: node.seconds() })

const other = startEdgeNode({ home: join(folder, 'other'), ...program })
await other.until('the other is up', () => true)
// On a busy machine the answer may say that the search goes on.
await other.client
  .send('join', { target })
  .catch((error) => console.log(JSON.stringify({ join: error.message })))
await node.until('connected', ({ swarm }) => (swarm?.connected ?? 0) > 0)
tell('joined by another node')
const shared = await node.until(
  'groups of the other',
  ({ rollouts }) => (rollouts?.verified ?? 0) > 0 && (rollouts?.published ?? 0) > 0,
)
tell('groups shared', { verified: shared.rollouts?.verified, published: shared.rollouts?.published })
await other.until('groups of this node', ({ rollouts }) => (rollouts?.verified ?? 0) > 0)
tell('groups received by the other node')

const { step } = await node.client.send('checkpoint', {})
tell('checkpoint', { step })
await node.kill()
node = startEdgeNode(small)
const again = await node.until('up again', () => true)
tell('up again after kill -9', { seconds: node.seconds(), step: again.training?.step })
if ((again.training?.step ?? 0) < step)
  throw new Error(`it went on at ${again.training?.step}, not at ${step}`)
await node.until('a step more', ({ training }) => (training?.step ?? 0) > step)
await node.until('the peer again', ({ swarm }) => (swarm?.connected ?? 0) > 0)
tell('trains again, with its peer')
await Promise.all([node.stop(), other.stop()])
tell('stopped')
group.remove()
rmSync(folder, { recursive: true })
