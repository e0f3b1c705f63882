// Advice for the user: rules over one snapshot, each with an observation and a next step. Shown by the terminal UI and
// by `waggle status`. Does not repeat the node's alerts. The thresholds are approximate.

import { type Advice, attention, hint } from './advice-types.ts'
import { refusalText } from './refusals.ts'
import type { Snapshot } from './snapshot/index.ts'
import { bytes, count, duration, percent, si } from './text/format.ts'
import { belowBand } from './text/recipe-text.ts'

/** Mismatch KL in nats per token. Above this, the sampler and the trainer disagree, or the data is too stale. */
export const MAX_KL = 0.05
/** Clipping should affect few tokens; if it affects a fifth of them, steps are too large. */
export const MAX_CLIPPED = 0.2
/** Below this effective sample size, a few tokens dominate the batch. */
export const MIN_ESS = 0.3
const SIGNAL_LOW = 0.15
/** In parameters; models that were trained on language are larger. */
const SMALL_MODEL = 20e6
const TRUNCATED_HIGH = 0.3
const DISK_LOW = 1e9
const MEMORY_LOW = 400e6
const CHECKPOINT_OLD_MS = 3_600_000
const ALONE_MS = 120_000
const REFUSED_HIGH = 0.5
/** Minimum number of foreign groups for a meaningful share. */
const ENOUGH_GROUPS = 50
/** Number of evaluations over which held-out accuracy should rise. */
const PLATEAU = 12

type Rule = (snapshot: Snapshot) => Advice | undefined

const paused: Rule = ({ state }) =>
  state === 'PAUSED' ? attention('training is paused', '`resume` continues it') : undefined

const held: Rule = ({ state, limits, time }) => {
  const first = limits?.holds[0]
  if (state !== 'WAITING' || first === undefined) return undefined
  return hint(
    `the node has been waiting for ${duration(time - first.since)}: ${first.reason}`,
    `\`set\` changes limits.${first.limit}`,
  )
}

/** Hitting a rate limit only delays traffic, as intended. Using up the month's bytes ends sharing. */
const network: Rule = ({ limits, time }) => {
  const hold = limits?.network?.holds[0]
  if (hold === undefined) return undefined
  const tell = hold.limit === 'network_gb_per_month' ? attention : hint
  return tell(
    `the network has been held back for ${duration(time - hold.since)}: ${hold.reason}`,
    `\`set\` changes limits.${hold.limit}`,
  )
}

const disk: Rule = ({ machine }) =>
  machine?.diskFreeBytes !== undefined && machine.diskFreeBytes < DISK_LOW
    ? attention(
        `only ${bytes(machine.diskFreeBytes)} of disk space is free`,
        'free some space, or lower checkpoint.keep',
      )
    : undefined

const memory: Rule = ({ machine }) =>
  machine?.freeMemoryBytes !== undefined && machine.freeMemoryBytes < MEMORY_LOW
    ? attention(
        `only ${bytes(machine.freeMemoryBytes)} of memory is free`,
        'close other programs, or `set training.batch_groups=4`',
      )
    : undefined

const mismatch: Rule = ({ training: t }) =>
  t?.mismatchKl !== undefined && t.mismatchKl > MAX_KL
    ? attention(
        `trainer and sampler disagree: mismatch KL ${t.mismatchKl.toFixed(3)}, limit ${MAX_KL}`,
        'lower training.max_staleness, or halve the learning rate',
      )
    : undefined

const clipped: Rule = ({ training: t }) =>
  t?.clippedShare !== undefined && t.clippedShare > MAX_CLIPPED
    ? attention(
        `clipping affects ${percent(t.clippedShare, 0)} of tokens: steps are too large`,
        t.learningRate === undefined
          ? 'lower training.learning_rate'
          : `\`set training.learning_rate=${Number((t.learningRate / 2).toPrecision(2))}\``,
      )
    : undefined

const weights: Rule = ({ training: t }) =>
  t?.effectiveSampleSize !== undefined && t.effectiveSampleSize < MIN_ESS
    ? attention(
        `few tokens dominate the batch: ESS ${percent(t.effectiveSampleSize, 0)}`,
        'lower training.max_staleness or training.max_peer_groups',
      )
    : undefined

const signal: Rule = ({ rollouts: r, tasks, model }) => {
  if (r?.signalShare === undefined || r.signalShare >= SIGNAL_LOW) return undefined
  const easy = (r.allRightShare ?? 0) > (r.allWrongShare ?? 0)
  const canMove =
    tasks === undefined ||
    tasks.some(({ difficulty, min, max }) => (easy ? difficulty < max : difficulty > min))
  // The included model has seen the built-in tasks and nothing else, so that no hint helps it with other questions.
  if (!easy && !canMove && model?.parameters !== undefined && model.parameters < SMALL_MODEL)
    return attention(
      `only ${percent(r.signalShare, 0)} of groups have a signal: a model of ${si(model.parameters)} parameters hardly answers such questions`,
      'stop the node and start it with --model FILE, a pretrained model',
    )
  const questions = easy
    ? 'add harder questions or another task'
    : 'add easier questions, [warm_start] in a new home, or a plugin under [[hints]]'
  return attention(
    `only ${percent(r.signalShare, 0)} of groups have a signal: the tasks are too ${easy ? 'easy' : 'hard'}`,
    `${canMove ? `${easy ? 'raise' : 'lower'} difficulty in [[tasks]]` : questions} and \`restart\``,
  )
}

const cutOff: Rule = ({ training: t }) =>
  t?.truncatedShare !== undefined && t.truncatedShare > TRUNCATED_HIGH
    ? attention(
        `${percent(t.truncatedShare, 0)} of completions are cut off by the length limit`,
        'raise model.max_completion_tokens and `restart`',
      )
    : undefined

const alone: Rule = ({ swarm, time, node }) =>
  swarm?.enabled && swarm.connected === 0 && time - node.startedAt > ALONE_MS
    ? hint(
        'no peers; training alone',
        swarm.isPrivate ? 'let others join with `invite`' : 'connect with `join <peer ID>`',
      )
    : undefined

/** Without copies of known groups: a node that has restarted gets many, and they cost nothing. */
const refused: Rule = ({ rollouts: r }) => {
  const { duplicate: _known, own: _own, ...rest } = r?.refused ?? {}
  const counts = Object.entries(rest).sort(([, a], [, b]) => b - a)
  const all = counts.reduce((sum, [, n]) => sum + n, 0)
  if (!r || !counts[0]) return undefined
  // What is refused at the door does not count as received.
  const came = Math.max(r.received, r.verified + all)
  if (came < ENOUGH_GROUPS || all < came * REFUSED_HIGH) return undefined
  return attention(
    `${percent(all / came, 0)} of peers' groups are refused, most because: ${refusalText(counts[0][0])}`,
    'see the Swarm tab, or `peers`',
  )
}

const sharingHurts: Rule = ({ sharing }) =>
  sharing?.verdict === 'hurts' && sharing.foreign > 0
    ? attention(
        'foreign groups slow down training',
        '`set training.max_peer_groups=0` trains on own groups only',
      )
    : undefined

const checkpoint: Rule = ({ checkpoint: last, time, training, node }) =>
  training && time - Math.max(last?.time ?? 0, node.startedAt) > CHECKPOINT_OLD_MS
    ? attention(
        `the last checkpoint is ${duration(time - (last?.time ?? node.startedAt))} old`,
        '`checkpoint` saves one now',
      )
    : undefined

const plateau: Rule = ({ evaluations = [] }) => {
  const recent = evaluations.slice(-PLATEAU)
  if (recent.length < PLATEAU) return undefined
  const best = (part: typeof recent) => Math.max(...part.map(({ accuracy }) => accuracy))
  const before = best(recent.slice(0, PLATEAU / 2))
  // In steps, since the node may have been stopped or held back in between.
  const steps = recent.at(-1)!.step - recent[PLATEAU / 2]!.step
  return steps > 0 && best(recent.slice(PLATEAU / 2)) <= before
    ? hint(
        `held-out accuracy has not risen for ${count(steps)} steps`,
        'harder tasks, another learning rate, or more peers may help',
      )
    : undefined
}

const RULES: readonly Rule[] = [
  paused,
  held,
  network,
  disk,
  memory,
  belowBand,
  mismatch,
  clipped,
  weights,
  signal,
  cutOff,
  sharingHurts,
  refused,
  checkpoint,
  alone,
  plateau,
]

/** Most urgent first. Normally empty. */
export function adviceOn(snapshot: Snapshot): Advice[] {
  const found = RULES.flatMap((rule) => rule(snapshot) ?? [])
  return [
    ...found.filter(({ level }) => level === 'attention'),
    ...found.filter(({ level }) => level === 'hint'),
  ]
}
