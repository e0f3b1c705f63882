// The frame of every experiment: plays each arm at each rate with each seed, keeps a record of each run with where it
// comes from and what it cost, continues where an earlier call stopped, and prints the table.

import type { ParseArgsOptionsConfig } from 'node:util'
import { type Defaults, readFlags, type Values } from './flags.ts'
import { createMeter, type Meter } from './meter.ts'
import { type Provenance, provenance } from './provenance.ts'
import { openRecords } from './records.ts'

interface Experiment<Arm, Result extends object> {
  /** What it asks, and what would have to come out for which answer. Printed above the table. */
  question: string
  defaults: Defaults
  flags?: ParseArgsOptionsConfig
  /** What must be equal for two runs to be compared, arm, rate and seed apart. */
  settings(values: Values): Record<string, unknown>
  /** Whether a record counts for a call with these flags. Default: its settings are the same. */
  isComparable?(run: Run<Result>, values: Values): boolean
  /** Throws, naming what there is, if there is no such arm. */
  arm(name: string, values: Values): Arm
  play(arm: Arm, run: Played): Promise<Result>
  table(runs: readonly Run<Result>[], values: Values): string
}

/** What a run is given. */
export interface Played {
  name: string
  rate: number
  seed: number
  values: Values
  meter: Meter
  log(line: string): void
}

export type Run<Result> = Result & {
  arm: string
  rate: number
  seed: number
  settings: Record<string, unknown>
  /** Processor seconds by part. */
  processor: Record<string, number>
  /** By the clock. */
  seconds: number
  made: Provenance
}

export async function runExperiment<Arm, Result extends object>(
  experiment: Experiment<Arm, Result>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  const { frame, values } = readFlags(args, experiment.defaults, experiment.flags)
  const settings = experiment.settings(values)
  const same = JSON.stringify(settings)
  const records = await openRecords<Run<Result>>(frame.out)
  const isComparable =
    experiment.isComparable ?? ((run: Run<Result>) => JSON.stringify(run.settings) === same)
  const comparable = (): Run<Result>[] => records.done.filter((run) => isComparable(run, values))
  const log = (line: string): void => void process.stderr.write(`${line}\n`)
  for (const seed of frame.show ? [] : frame.seeds)
    for (const name of frame.arms)
      for (const rate of frame.ratesOf(name)) {
        const isDone = (run: Run<Result>) => run.arm === name && run.rate === rate && run.seed === seed
        if (comparable().some(isDone)) continue
        const arm = experiment.arm(name, values)
        const made = provenance(args, Date.now)
        const [meter, started] = [createMeter(), performance.now()]
        const result = await experiment.play(arm, { name, rate, seed, values, meter, log })
        const seconds = (performance.now() - started) / 1000
        const run = { arm: name, rate, seed, settings, ...result, processor: meter.seconds, seconds, made }
        await records.add(run as Run<Result>)
        log(`${name} at ${rate}, seed ${seed}: ${seconds.toFixed(0)} s`)
      }
  console.log(`${experiment.question}\n\n${experiment.table(comparable(), values)}`)
}
