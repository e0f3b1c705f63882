// G38: would the tests notice? A seeded sample of small faults in the code that reads what peers send, bounds it, pays for
// answers and saves checkpoints; each is run against the tests of its part.

import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { randomOf } from '../../../test/sim/world.ts'
import { inPercent, type Row } from '../row.ts'
import { type Mutant, mutantsOf } from './mutate.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const ofAdmission = (name: string): string => `daemon/swarm/admission/${name}.ts`
/** Of the tests without a fault, and so many times as long as those took with one. */
const MAX = { ms: 600_000, times: 5 }
const admission = (name: string): string => `test/swarm/admission/${name}.test.ts`
const tasks = (name: string): string => `test/plugins/tasks/${name}.test.ts`

interface Code {
  files: string[]
  /** Those that find most, in seconds, and the rest, which run if the first find nothing. */
  tests: [quick: string[], slow: string[]]
}

const PARTS: Record<string, Code[]> = {
  validators: [
    {
      files: ['admission', 'verify', 'copies', 'gossip-validator'].map(ofAdmission),
      tests: [
        ['admission', 'copies', 'gossip-validator'].map(admission),
        [...['episodes', 'tokenizers', 'read-text'].map(admission), 'test/swarm/parts.test.ts'],
      ],
    },
    {
      files: ['group', 'frame', 'fields', 'pack', 'announcement'].map((name) => `protocol/wire/${name}.ts`),
      tests: [['test/protocol/wire/group.test.ts'], ['test/protocol/wire/messages.test.ts']],
    },
  ],
  quotas: [
    {
      files: ['quota', 'fair-share', 'newcomer-quota', 'queue', 'turns', 'seen'].map(ofAdmission),
      tests: [
        ['admission', 'gossip-validator'].map(admission),
        [admission('fair-share'), 'test/swarm/parts.test.ts'],
      ],
    },
  ],
  checkpoints: [
    {
      files: ['checkpoints', 'manifest'].map((name) => `daemon/store/checkpoints/${name}.ts`),
      tests: [['test/store/checkpoints.test.ts'], ['test/trainer/checkpointing.test.ts']],
    },
  ],
  rewards: [
    {
      files: [
        ...['answer', 'numbers'].map((name) => `plugins/tasks/${name}.ts`),
        ...[
          'choice',
          'exact',
          'expression-reader',
          'fraction',
          'numeric',
          'rational',
          'set',
          'regex-class',
        ].map((name) => `plugins/tasks/verifiers/${name}.ts`),
      ],
      tests: [
        ['answer', 'verifiers'].map(tasks),
        ['basic-arithmetic', 'decimal-arithmetic', 'fraction-simplification'].map(tasks),
      ],
    },
  ],
}

/** Whether the tests pass. Never returning counts as failing. */
async function passes(
  tests: readonly string[],
  { limitMs = MAX.ms, mutant }: { limitMs?: number; mutant?: { file: string; source: string } } = {},
): Promise<boolean> {
  const child = spawn(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      join(import.meta.dirname, 'vitest.config.ts'),
      ...tests,
    ],
    {
      cwd: ROOT,
      stdio: 'ignore',
      // With its workers it is one group, so that an endless loop ends with it.
      detached: true,
      env: { ...process.env, ...(mutant && { WAGGLE_MUTANT: JSON.stringify(mutant) }) },
    },
  )
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), limitMs)
  const status = await new Promise<number | null>((ended) => child.once('close', ended))
  clearTimeout(timer)
  return status === 0
}

interface MutationOptions {
  /** Of PARTS; all if none is named. */
  parts?: readonly string[] | undefined
  /** Mutants of each part. */
  each: number
  seed: string
  /** Called for each that no test noticed. */
  onSurvivor(survivor: { part: string; file: string } & Pick<Mutant, 'line' | 'what'>): void
}

export async function mutation({ each, seed, parts, onSurvivor }: MutationOptions): Promise<Row> {
  const folder = await mkdtemp(join(tmpdir(), 'waggle-mutants-'))
  const scores: string[] = []
  let [noticed, tried] = [0, 0]
  try {
    for (const [part, codes] of Object.entries(PARTS)) {
      if (parts && !parts.includes(part)) continue
      const all: (Mutant & { file: string; tests: Code['tests']; limitMs: number })[] = []
      for (const { files, tests } of codes) {
        const begun = performance.now()
        for (const some of tests)
          if (!(await passes(some))) throw new Error(`without a fault, these do not pass: ${some.join(', ')}`)
        const limitMs = MAX.times * (performance.now() - begun)
        for (const file of files)
          for (const mutant of mutantsOf(await readFile(join(ROOT, file), 'utf8')))
            all.push({ ...mutant, file, tests, limitMs })
      }
      const sample = randomOf(`mutants ${seed} ${part}`).shuffled(all).slice(0, each)
      let seen = 0
      for (const { file, line, what, source, tests, limitMs } of sample) {
        const mutant = { file: join(ROOT, file), source: join(folder, 'mutant.ts') }
        await writeFile(mutant.source, source)
        const survives =
          (await passes(tests[0], { limitMs, mutant })) && (await passes(tests[1], { limitMs, mutant }))
        if (survives) onSurvivor({ part, file, line, what })
        else seen++
      }
      scores.push(`${part} ${seen} of ${sample.length} (${all.length} there are)`)
      noticed += seen
      tried += sample.length
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  return {
    goal: 'G38',
    tried: `${tried} small faults in the source, seed ${seed}: ${scores.join('; ')}`,
    result: `${inPercent(noticed, tried)} noticed by the tests of their part`,
    control: 'the same tests without a fault pass',
    isMet: noticed >= 0.85 * tried,
  }
}
