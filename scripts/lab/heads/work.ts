// What averaging weights saves: tokens, own groups and processor seconds of one node alone to a held-out accuracy, divided
// by those of one node among several.
// `npm run -s lab:heads-work [-- --records heads-sparse --targets 0.08]`, `-- --records heads-daemons --targets 0.14`, or
// `-- --records heads-real --targets 0.40 --tokens 9000,10000`, of the runs of so many tokens
//
// Reads records of lab:heads and of lab:heads-daemons, where daemons `apart` are alone. The control of each figure is the
// setting of a node alone at which that figure is least, as a geometric mean over the seeds, of those at which most runs
// arrive. Times are compared with those of the same kind of processor alone. Both are smoothed over three looks; a run that
// never arrives counts at what it spent.

import { parseArgs } from 'node:util'
import { costTo, type Reached, ratioOf, showRatio } from '../frame/reach.ts'
import { openRecords } from '../frame/records.ts'
import { markdown, mean } from '../frame/statistics.ts'
import type { HeadLook } from './dense.ts'

type Look = Pick<HeadLook, 'processorSeconds' | 'sampled'> &
  Partial<Pick<HeadLook, 'sampledTokens' | 'trainedTokens'>> & { ownGroups?: number; clock?: number }
interface WorkRun {
  arm: string
  rate: number
  seed: number
  looks: readonly Look[]
  /** `loraRate`: of daemons that train an adapter at another rate than 1e-3. */
  settings?: { loraRate?: string; tokens?: number }
  made?: { machine: string }
}

type Unit = (look: Look) => number | undefined

/** Undefined where a record has no such count. */
const ALL_UNITS: Record<string, Unit> = {
  'sampled tokens': ({ sampledTokens }) => sampledTokens,
  'sampled and trained': ({ sampledTokens, trainedTokens }) =>
    sampledTokens !== undefined && trainedTokens !== undefined ? sampledTokens + trainedTokens : undefined,
  'own groups': ({ ownGroups }) => ownGroups,
  'processor seconds': ({ processorSeconds }) => processorSeconds,
  'seconds by the clock': ({ clock }) => clock,
}
const TIMES: ReadonlySet<Unit> = new Set([
  ALL_UNITS['processor seconds']!,
  ALL_UNITS['seconds by the clock']!,
])
const SEEDS = 100
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: 'heads,alone' },
    targets: { type: 'string', default: '0.15,0.16' },
    tokens: { type: 'string' },
  },
})
const targets = values.targets.split(',').map(Number)

const lengths = values.tokens?.split(',').map(Number)
const isWanted = ({ seed, settings }: WorkRun): boolean =>
  seed < SEEDS && (!lengths || lengths.includes(settings?.tokens ?? 0))

const runsOf = async (name: string): Promise<WorkRun[]> =>
  (await openRecords<WorkRun>(`docs/results/${name}.jsonl`)).done.filter(isWanted)
const keyOf = ({ arm, rate, settings }: WorkRun): string => `${arm} at ${settings?.loraRate ?? rate}`
const keysOf = (runs: readonly WorkRun[]): string[] => [...new Set(runs.map(keyOf))].sort()
const cost = ({ looks }: WorkRun, target: number, unit: Unit): Reached =>
  costTo(
    target,
    looks.map((look) => ({ cost: unit(look)!, accuracy: look.sampled })),
  )

const runs = (await Promise.all(values.records.split(',').map(runsOf))).flat()
const counts =
  (unit: Unit) =>
  ({ looks: [look] }: WorkRun): boolean =>
    look !== undefined && unit(look) !== undefined
const UNITS = Object.entries(ALL_UNITS).filter(([, unit]) => runs.some(counts(unit)))
const processorOf = ({ made }: WorkRun): string | undefined => made?.machine.split(',')[0]
const isAlone = ({ arm }: WorkRun): boolean => arm.startsWith('1 ') || arm.includes(' apart')
const [alone, heads] = [runs.filter(isAlone), runs.filter((run) => !isAlone(run))]
const seeds = new Set(heads.map(({ seed }) => seed))

/**
 * The runs of the setting that costs least in this unit, of those that arrive most often, of those that were made with most
 * seeds. What a run that never arrives would have cost is not known, so one that seldom does is no control.
 */
function control(beside: WorkRun, target: number, unit: Unit): WorkRun[] {
  const isLike = (run: WorkRun): boolean => !TIMES.has(unit) || processorOf(run) === processorOf(beside)
  const known = alone.filter(counts(unit)).filter(isLike)
  const all = keysOf(known).map((key) => known.filter((run) => keyOf(run) === key && seeds.has(run.seed)))
  const settings = all.filter((runs) => runs.length === Math.max(...all.map(({ length }) => length)))
  const arrived = (runs: readonly WorkRun[]): number =>
    runs.filter((run) => !cost(run, target, unit).isBound).length
  const logCost = (runs: readonly WorkRun[]): number =>
    mean(runs.map((run) => Math.log(cost(run, target, unit).cost)))
  return settings.sort((a, b) => arrived(b) - arrived(a) || logCost(a) - logCost(b))[0] ?? []
}

/** Of one node alone, divided by those of the node that it is paired with by seed; and at which setting it was alone. */
function ratioText(some: readonly WorkRun[], target: number, unit: Unit): string {
  const [first] = some
  if (!first) return '-'
  const controls = control(first, target, unit)
  const ratios = some.flatMap((run) => {
    const other = controls.find(({ seed }) => seed === run.seed)
    return other ? [{ over: cost(other, target, unit), under: cost(run, target, unit) }] : []
  })
  return `${showRatio(ratioOf(ratios))} [${controls[0] ? keyOf(controls[0]) : '-'}]`
}

console.log(
  markdown(
    ['nodes and steps', 'to', ...UNITS.map(([unit]) => `${unit}, alone / node [alone]`)],
    keysOf(heads).flatMap((key) =>
      targets.map((target) => [
        ...[key, target.toFixed(2)],
        ...UNITS.map(([, unit]) =>
          ratioText(heads.filter((run) => keyOf(run) === key).filter(counts(unit)), target, unit),
        ),
      ]),
    ),
  ),
)
