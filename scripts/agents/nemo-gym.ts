// Resources servers of NeMo Gym, real ones: the client plays the server of a counter by hand, with its tools and sessions,
// and a node trains on sums that the server of Reasoning Gym judges.
//
//   PYTHON=python3.12 node --import tsx scripts/agents/nemo-gym.ts [seconds]        nemo-gym needs Python 3.12

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openNemoGym, rowsIn } from '../../daemon/agents/index.ts'
import { serve, startPlayer, tell } from './servers.ts'
import { pythonWith, versionsOf } from './venv.ts'

const seconds = Number(process.argv[2] ?? 120)
const packages = ['nemo-gym', 'reasoning-gym']
const python = pythonWith('nemo-gym', packages)
const folder = mkdtempSync(join(tmpdir(), 'waggle-nemo-gym-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
console.log(versionsOf(python, packages))

const start = (name: string, port: number) =>
  serve(port, [python, 'scripts/agents/nemo_gym_server.py', name, `${port}`])
await start('example_session_state_mgmt', 8741)
await start('reasoning_gym', 8742)

const find =
  'import importlib.util as u; print(u.find_spec("resources_servers").submodule_search_locations[0])'
const servers = execFileSync(python, ['-c', find], { encoding: 'utf8' }).trim()
const examples = join(servers, 'example_session_state_mgmt/data/example.jsonl')
const counter = await openNemoGym(
  {
    ...{ name: 'counter', url: 'http://127.0.0.1:8741', turns: 8, sessions: 1, stepSeconds: 30 },
    rows: rowsIn(readFileSync(examples, 'utf8'), examples),
  },
  {
    fetch,
    now: Date.now,
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  },
)
/** The reward for adding these numbers and then answering. */
async function counted(...numbers: unknown[]): Promise<number> {
  const session = await counter.open()
  await session.reset(0)
  for (const count of numbers) {
    const call = { id: 'call', name: 'increment_counter', arguments: JSON.stringify({ count }) }
    await session.step({ content: '', calls: [call] })
  }
  const { reward } = await session.step({ content: 'Done.', calls: [] })
  session.close()
  return reward
}
// The row begins at 3 and wants 6.
console.log(
  `counter: 1 and 2 added ${await counted(1, 2)}, 1 added ${await counted(1)}, a wrong call ${await counted('x')}`,
)

const digits = Array.from({ length: 10 }, (_, i) => i)
const rows = digits.flatMap((a) =>
  digits.map((b) => {
    const question = `Work out ${a} + ${b}`
    return {
      ...{ responses_create_params: { input: question }, question, answer: `${a + b}` },
      metadata: { source_dataset: 'chain_sum' },
    }
  }),
)
const dataset = join(folder, 'sums.jsonl')
writeFileSync(dataset, rows.map((row) => JSON.stringify(row)).join('\n'))
const node = await startPlayer(
  join(folder, 'home'),
  `{ name = "sums", use = "nemo-gym", url = "http://127.0.0.1:8742", dataset = ${JSON.stringify(dataset)} }`,
)
const started = performance.now()
for (let t = 0; t < seconds; t += 20) {
  await new Promise((resolve) => setTimeout(resolve, 20_000))
  await tell(node, started)
}
await node.stop()
process.exit(0)
