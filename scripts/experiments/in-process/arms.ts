// The frame of an experiment that compares arms at equal generated tokens: runs every arm with every seed, evaluates
// each along the way, and keeps finished runs.

import type { PluginHost } from '../../../daemon/host/host.ts'
import { openRecords } from '../../lab/frame/records.ts'

export interface ArmRun {
  arm: string
  seed: number
  /** Runs with the same settings can be compared. */
  settings: string
  seconds: number
}

export interface ArmsOptions<Arm> {
  arms: Readonly<Record<string, Arm>>
  /** Those that are played. */
  names: readonly string[]
  /** Of seeds 1 to this. */
  seeds: number
  settings: string
  /** The file that runs are kept in: a call with the same one makes those missing. */
  out: string
}

/** All runs of these settings, those of earlier calls too. */
export async function playArms<Arm, Run extends ArmRun>(
  { arms, names, seeds, settings, out }: ArmsOptions<Arm>,
  {
    play,
    tell,
  }: {
    play(arm: Arm, seed: number, name: string): Promise<Omit<Run, keyof ArmRun>>
    tell(run: Run): void
  },
): Promise<Run[]> {
  const records = await openRecords<Run>(out)
  const comparable = (): Run[] => records.done.filter((run) => run.settings === settings)
  for (let seed = 1; seed <= seeds; seed++) {
    for (const name of names) {
      if (comparable().some((run) => run.arm === name && run.seed === seed)) continue
      const arm = arms[name]
      if (arm === undefined)
        throw new Error(`there is no arm "${name}"; there are ${Object.keys(arms).join(', ')}`)
      const started = performance.now()
      const found = await play(arm, seed, name)
      const seconds = (performance.now() - started) / 1000
      const run = { arm: name, seed, settings, ...found, seconds } as unknown as Run
      await records.add(run)
      tell(run)
    }
  }
  return comparable()
}

/** A node alone, round by round. */
export interface Learner<Round> {
  readonly host: Pick<PluginHost, 'status'>
  /** Generated since the start. */
  readonly tokens: number
  round(): Promise<Round>
}

export interface Look {
  tokens: number
  set: number
}

/**
 * Rounds until so many tokens are generated. `looks` are spread evenly over the way, the first of them, before it,
 * given. Throws where a plugin has failed.
 */
export async function learnFor<Round>(
  node: Learner<Round>,
  tokens: number,
  onRound: (round: Round) => void,
  looks?: { count: number; first: number; look(): Promise<number> },
): Promise<Look[]> {
  const curve = looks ? [{ tokens: 0, set: looks.first }] : []
  while (node.tokens < tokens) {
    onRound(await node.round())
    if (looks && node.tokens >= (curve.length * tokens) / looks.count)
      curve.push({ tokens: node.tokens, set: await looks.look() })
  }
  requireHealth(node)
  return curve
}

/** Throws where a plugin has failed: a node tells that and survives it, here it would be a wrong number. */
export function requireHealth({ host }: Pick<Learner<unknown>, 'host'>): void {
  const failed = host.status().find(({ strikes }) => strikes > 0)
  if (failed) throw new Error(`${failed.name}: ${failed.message}`)
}
