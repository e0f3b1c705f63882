// What does a flood cost a node that trains? node --import tsx scripts/bench/swarm/training.ts [pairs=6] [seconds=10]
// A real daemon on one core, and on the other an attacker that never stops: 10 000 valid messages a second of one of
// the node's tasks, under a new identity whenever it is cut off. Counts optimizer steps in alternating windows of
// calm and attack. Linux; on a busy machine, run it through quiet.sh.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '../../../daemon/control/api/client.ts'
import { quantile, round, sleep } from './processes/parent.ts'

const [pairs = 6, seconds = 10] = process.argv.slice(2).map(Number)
const home = mkdtempSync(join(tmpdir(), 'waggle-training-'))
const root = new URL('../../../', import.meta.url).pathname
/** Small steps, so that there are many to count, and a policy that stays as it is, so that they stay alike. */
const settings = [
  'swarm.name=test',
  'eval.every_seconds=0',
  'engine.threads=1',
  'checkpoint.every_steps=1000000',
  'rollout.group_size=4',
  'rollout.groups_per_round=2',
  'training.batch_groups=1',
  'training.max_peer_groups=0',
  'training.learning_rate=1e-9',
  'tasks=basic_arithmetic',
]
const pinned = (core: number, ...args: string[]) =>
  spawn('taskset', ['-c', String(core), process.execPath, '--import', 'tsx', ...args], {
    cwd: root,
    stdio: 'ignore',
  })

const daemon = pinned(
  0,
  'daemon/cli/waggle.ts',
  'up',
  '--home',
  home,
  ...settings.flatMap((one) => ['--set', one]),
)
const client = createClient({ socket: join(home, 'control.sock') })
const snapshot = async () => {
  for (let tries = 0; ; tries++) {
    try {
      return await client.snapshot()
    } catch (error) {
      if (tries > 200) throw error
      await sleep(200)
    }
  }
}
/** Work done so far. */
const done = async () => {
  const { training, rollouts } = await snapshot()
  return (training?.step ?? 0) + (rollouts?.generated ?? 0)
}
while ((await done()) < 1000) await sleep(500)
const addresses = (await snapshot()).swarm?.addresses ?? []
const address = addresses.find((one) => one.includes('/127.0.0.1/tcp/')) ?? ''

/** Optimizer steps and groups a second, together. */
async function window(attacked: boolean): Promise<number> {
  const file = join(root, 'scripts/bench/swarm/processes/attacker.ts')
  const attacker = attacked
    ? pinned(1, file, address, 'valid', '10000', String(seconds + 30), '1', 'again', 'basic_arithmetic')
    : undefined
  // It signs its messages first.
  if (attacker) await sleep(4000)
  const from = await done()
  const at = performance.now()
  await sleep(seconds * 1000)
  const rate = (((await done()) - from) / (performance.now() - at)) * 1000
  attacker?.kill('SIGKILL')
  await sleep(1500)
  return rate
}

const ratios: number[] = []
for (let pair = 0; pair < pairs; pair++) {
  const order = pair % 2 === 0 ? [false, true] : [true, false]
  const rates: Record<string, number> = {}
  for (const attacked of order) rates[String(attacked)] = await window(attacked)
  ratios.push(rates.true! / rates.false!)
  console.log(`calm ${round(rates.false!, 3)}, attacked ${round(rates.true!, 3)} steps and groups a second`)
}
const { rollouts } = await snapshot()
console.log(
  `attacked / calm: median ${round(quantile(ratios, 0.5), 3)}, ${round(Math.min(...ratios), 3)} to ${round(Math.max(...ratios), 3)}; refused ${JSON.stringify(rollouts?.refused)}`,
)
daemon.kill('SIGINT')
await sleep(3000)
daemon.kill('SIGKILL')
rmSync(home, { recursive: true, force: true })
process.exit(0)
