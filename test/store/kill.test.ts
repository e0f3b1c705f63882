// kill -9 in the middle of everything, again and again, on one home: what was acknowledged is there afterwards.
// (What only a power cut can show is in checkpoints.test.ts.) WAGGLE_KILLS=200 for the long run, which prints its figures.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { openDatabase } from '../../daemon/store/database/database.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { createPool } from '../../daemon/store/pool/pool.ts'
import { plainGroup } from './groups.ts'
import { seeded } from './random.ts'

const KILLS = Number(process.env.WAGGLE_KILLS ?? 5)
const VICTIM = join(import.meta.dirname, 'victim.ts')

interface Life {
  /** Both times end when it has resumed: from the start of the process, and of opening its home. */
  resumed?: { step: number; next: number; pooled: number; ms: number; openMs: number }
  saved: number
  pooled: number
  complaints: string[]
}

/** Lets a victim live for `ms` after its first save, or after it began to open its home; returns what it had acknowledged. */
async function live(home: string, from: 'opening' | 'saved', ms: number): Promise<Life> {
  const started = performance.now()
  let opening = started
  const child: ChildProcess = spawn(process.execPath, [VICTIM, home], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const life: Life = { saved: 0, pooled: 0, complaints: [] }
  createInterface({ input: child.stderr! }).on('line', (line) => life.complaints.push(line))
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const [word, ...rest] = line.split(' ')
    const [a, b, c] = rest.map(Number)
    if (word === from) setTimeout(() => child.kill('SIGKILL'), ms)
    const now = performance.now()
    if (word === 'opening') opening = now
    else if (word === 'resumed')
      life.resumed = { step: a!, next: b!, pooled: c!, ms: now - started, openMs: now - opening }
    else if (word === 'saved') life.saved = a!
    else if (word === 'pooled') life.pooled = a!
    else if (rest[0] === 'warn' || rest[0] === 'error') life.complaints.push(line)
  })
  await new Promise((resolve) => child.on('close', resolve))
  return life
}

describe('a daemon that is killed', () => {
  it(`${KILLS} times resumes with all that it had acknowledged, and no lock in its way`, async () => {
    const home = await mkdtemp(join(tmpdir(), 'waggle-kill-'))
    const random = seeded(5)
    let before: Life | undefined
    const resumes: number[] = []
    const opens: number[] = []
    let [steps, groups, unopened] = [0, 0, 0]
    for (let i = 0; i < KILLS; i++) {
      // Every fifth dies while it opens what the one before left.
      const isEarly = i % 5 === 3
      const life = await live(home, isEarly ? 'opening' : 'saved', random() * (isEarly ? 60 : 280))
      expect(life.complaints).toEqual([])
      if (isEarly && !life.resumed) {
        unopened++
        continue
      }
      expect(life.resumed).toBeDefined()
      if (before) {
        // At most what was under way is there beside what was acknowledged: one save, one round of groups.
        expect(life.resumed!.step - Math.max(before.saved, before.resumed!.step)).toBeOneOf([0, 1])
        expect(life.resumed!.next - Math.max(before.pooled, before.resumed!.next)).toBeOneOf([0, 20])
        expect(life.resumed!.pooled).toBeGreaterThanOrEqual(Math.min(200, life.resumed!.next))
      }
      resumes.push(life.resumed!.ms)
      opens.push(life.resumed!.openMs)
      steps += Math.max(0, life.saved - life.resumed!.step)
      groups += Math.max(0, life.pooled - life.resumed!.next)
      before = life
    }
    expect(before!.resumed!.step).toBeGreaterThan(0)
    // From the start of the process. The promise is 5 s; a machine that is busy with other tests may need longer once.
    expect(resumes.sort((a, b) => a - b)[resumes.length >> 1]).toBeLessThan(5000)
    expect(resumes.at(-1)).toBeLessThan(20_000)
    if (process.env.WAGGLE_KILLS)
      console.log(
        `${KILLS} kills, ${unopened} of them before the home was open; ${resumes.length} resumed with all of ${steps} acknowledged ` +
          `checkpoints and ${groups} groups; from the start of the process, ${resumes[resumes.length >> 1]!.toFixed(0)} ms ` +
          `(median), ${resumes.at(-1)!.toFixed(0)} ms at most, of which opening the home ${Math.max(...opens).toFixed(0)} ms at most`,
      )

    const log = () => {}
    const checkpoints = await createCheckpoints(
      { directory: join(home, 'checkpoints') },
      { disk, clock: () => 0, log },
    )
    expect((await checkpoints.latest())!.manifest.step).toBeGreaterThanOrEqual(before!.saved)
    const database = await openDatabase({ directory: join(home, 'store') }, { log })
    const pool = await createPool({ capacityGroups: 200 }, { database, log })
    const [newest] = pool.select({ origin: 'own', count: 1, order: 'newest' })
    expect(newest!.group).toStrictEqual(plainGroup(newest!.group.policy.version))
    expect(newest!.group.policy.version).toBeGreaterThanOrEqual(before!.pooled - 1)
    await database.close()
    await rm(home, { recursive: true })
  }, 600_000)
})
