// A process to be killed: opens a home, adds groups and saves checkpoints as fast as it can, and says on stdout what
// has been acknowledged. Run by kill.test.ts: node victim.ts <home>

import { hostname } from 'node:os'
import { join } from 'node:path'
import { encodeSafetensors } from '../../daemon/policy/safetensors/read.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { openHome } from '../../daemon/store/home.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { createPool } from '../../daemon/store/pool/pool.ts'
import { plainGroup } from './groups.ts'

const home = process.argv[2]!
const say = (line: string) => process.stdout.write(`${line}\n`)
const log = (level: string, message: string) => say(`log ${level} ${message}`)
const clock = () => Date.now()
say('opening')
const options = { directory: home, store: join(home, 'store'), lock: join(home, 'lock') }
const { database } = await openHome(options, {
  disk,
  clock,
  log,
  self: { pid: process.pid, host: hostname() },
})
const pool = await createPool({ capacityGroups: 200 }, { database, log })
const state = database.namespace('state')
const checkpoints = await createCheckpoints({ directory: join(home, 'checkpoints') }, { disk, clock, log })
const latest = await checkpoints.latest()
let step = latest?.manifest.step ?? 0
let next = Number(Buffer.from((await state.get('next')) ?? []).toString())
say(`resumed ${step} ${next} ${pool.counts().own}`)

async function rollouts() {
  for (;;) {
    for (let i = 0; i < 20; i++) pool.add(plainGroup(next++), 'own')
    await pool.flush()
    await state.put('next', Buffer.from(String(next)))
    say(`pooled ${next}`)
  }
}
async function training() {
  for (;;) {
    const tensors = { w: { shape: [20_000], data: new Float32Array(20_000).fill(++step) } }
    await checkpoints.save({
      step,
      policyVersion: step,
      lineage: 'a',
      files: {
        'model.safetensors': encodeSafetensors({ tensors }).content,
        'state.json': JSON.stringify({ step }),
      },
    })
    say(`saved ${step}`)
  }
}
await Promise.all([rollouts(), training()])
