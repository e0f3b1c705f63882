// A snapshot as plain text, for `waggle status`. Unknown values are left out.

import {
  accuracyText,
  adviceOn,
  agentsText,
  bytes,
  count,
  decimal,
  detectable,
  directionOf,
  doingText,
  duration,
  type Evaluation,
  headsText,
  learntText,
  nextText,
  percent,
  recipeText,
  refusalsText,
  type Snapshot,
  servingText,
  shareOf,
  sharingText,
  si,
  stepsText,
  trainingText,
} from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'

/** Makes a suggested command one that the user can type. */
type CommandLine = (rest: string) => string

export function statusText(s: Snapshot, commandLine: CommandLine = (rest) => `waggle ${rest}`): string[] {
  const rows = [
    ...nodeRows(s),
    ...trainingRows(s, commandLine),
    ...swarmRows(s, commandLine),
    ...machineRows(s),
  ]
  const lines = rows.flatMap(([label, text]) =>
    text ? [`${label.padEnd(11)}${safeText(text, { line: true, limit: 400 })}`] : [],
  )
  for (const alert of s.alerts ?? []) {
    lines.push(
      `! ${safeText(`${alert.message}${alert.action ? ` - ${alert.action}` : ''}`, { line: true, limit: 400 })}`,
    )
  }
  for (const { level, text, action } of adviceOn(s)) {
    const what = action.replace(/`([a-z][^`]*)`/g, (_, rest: string) => `\`${commandLine(rest)}\``)
    lines.push(safeText(`${level === 'attention' ? '!' : ' '} ${text} - ${what}`, { line: true, limit: 400 }))
  }
  return lines
}

type Row = [label: string, text: string | false | undefined]

function nodeRows(s: Snapshot): Row[] {
  const { node, engine, model } = s
  return [
    ['node', `${node.name}  ${node.peerId}`],
    [
      'state',
      `${s.state}${s.detail && !s.phases ? `: ${s.detail}` : ''}  up ${duration(s.time - node.startedAt)}`,
    ],
    ['doing', (s.phases ?? []).map(doingText).join('; ')],
    [
      'model',
      model &&
        join(
          model.title ?? model.name,
          model.policy.lineage.slice(0, 12),
          `policy v${model.policy.version}`,
          model.parameters !== undefined && `${si(model.parameters)} parameters`,
          trainedText(model.adapterRank),
        ),
    ],
    ['engine', engine && `${engine.kind} on ${engine.device}${engine.reason ? ` (${engine.reason})` : ''}`],
  ]
}

function trainingRows(s: Snapshot, commandLine: CommandLine): Row[] {
  const { training: t, rollouts: r } = s
  return [
    [
      'training',
      t &&
        join(
          `step ${count(t.step)}`,
          t.reward !== undefined && `reward ${decimal(t.reward)}`,
          t.next && nextText(t.next, t.step),
          r?.signalShare !== undefined && `signal ${percent(r.signalShare, 0)} of groups`,
        ),
    ],
    ['trained on', trained(s, commandLine)],
    ['held-out', heldOut(s)],
    ['recipe', recipeText(s)],
    [
      'own tasks',
      t?.taskAccuracy &&
        Object.entries(t.taskAccuracy)
          .map(([task, share]) => `${task} ${percent(share)}`)
          .join('  '),
    ],
    ['agents', s.agents && agentsText(s.agents)],
    ['serving', s.serving && servingText(s.serving)],
    [
      'stability',
      t &&
        join(
          t.mismatchKl !== undefined && `KL ${decimal(t.mismatchKl)}`,
          t.entropy !== undefined && `entropy ${decimal(t.entropy)}`,
          t.gradientNorm !== undefined && `grad ${decimal(t.gradientNorm)}`,
          t.clippedShare !== undefined && `clipped ${percent(t.clippedShare)}`,
          t.effectiveSampleSize !== undefined && `ESS ${percent(t.effectiveSampleSize, 0)}`,
          t.staleness && `age p50 ${t.staleness.p50} p95 ${t.staleness.p95} versions`,
        ),
    ],
    [
      'speed',
      t &&
        join(
          t.generateTokensPerSecond !== undefined && `generate ${si(t.generateTokensPerSecond)} tok/s`,
          t.trainTokensPerSecond !== undefined && `train ${si(t.trainTokensPerSecond)} tok/s`,
        ),
    ],
    [
      'batch',
      t?.batch && `${t.batch.own} own + ${t.batch.foreign} foreign groups, ${t.batch.rollouts} rollouts`,
    ],
  ]
}

function swarmRows(s: Snapshot, commandLine: CommandLine): Row[] {
  const { rollouts: r, swarm } = s
  return [
    [
      'swarm',
      swarm &&
        (swarm.enabled
          ? join(
              `${swarm.connected} peer${swarm.connected === 1 ? '' : 's'}`,
              swarm.hasLeft ? `left: \`${commandLine('join PEER')}\` connects again` : swarm.reachability,
              swarm.peers
                .filter((p) => p.state !== 'down' && p.state !== 'seen')
                .map((p) => p.name)
                .slice(0, 6)
                .join(' '),
            )
          : 'off'),
    ],
    ['nearby', nearby(s)],
    ['learnt', learntText(s)],
    ['weights', s.heads && swarm?.connected ? headsText(s.heads) : undefined],
    ...doingRows(s),
    ['sharing', s.sharing && sharingText(s.sharing)],
    [
      'groups',
      r &&
        `in ${count(r.received)}  verified ${count(r.verified)}  trained on ${count(r.trainedForeign)}  refused ${count(sum(r.refused))}  out ${count(r.published)}`,
    ],
    ['refused', r && refusalsText(r.refused)],
  ]
}

function machineRows(s: Snapshot): Row[] {
  const { node, training: t, swarm, checkpoint, machine } = s
  return [
    [
      'checkpoint',
      checkpoint
        ? `step ${count(checkpoint.step)}, ${duration(s.time - checkpoint.time)} ago  ${checkpoint.path}`
        : t && 'none yet',
    ],
    [
      'machine',
      machine &&
        join(
          machine.rssBytes !== undefined && `memory ${bytes(machine.rssBytes)}`,
          machine.cpuCores !== undefined && `CPU ${machine.cpuCores.toFixed(1)} cores`,
          machine.diskFreeBytes !== undefined && `disk ${bytes(machine.diskFreeBytes)} free`,
        ),
    ],
    ['files', node.home.state],
    ['addresses', swarm && swarm.addresses.length > 0 && swarm.addresses.slice(0, 4).join('  ')],
  ]
}

/** Nodes on the local network that are not joined. */
function nearby({ swarm }: Snapshot): string | undefined {
  const seen = swarm?.peers.filter(({ state }) => state === 'seen') ?? []
  if (seen.length === 0) return undefined
  const some = seen.slice(0, 3).map(({ name, id }) => `${name} ${id}`)
  const more = seen.length > some.length ? ` and ${seen.length - some.length} more` : ''
  return `not joined: ${some.join(', ')}${more}`
}

/** The newest phase, and where earlier ones are. */
function trained({ trained: phases = [] }: Snapshot, commandLine: CommandLine): string | undefined {
  const last = phases.at(-1)
  if (!last) return undefined
  const before =
    phases.length > 1 ? `; ${phases.length - 1} earlier: see \`${commandLine('checkpoint list')}\`` : ''
  return `${stepsText(last)}: ${trainingText(last)}${before}`
}

function heldOut({ evaluations = [], time }: Snapshot): string | undefined {
  const [first, last] = [evaluations[0], evaluations.at(-1)]
  if (!first || !last) return undefined
  const tasks = Object.entries(last.tasks).map(([task, share]) => `${task} ${percent(share, 0)}`)
  const parts = [
    compared(first, last, 'sampled'),
    last.greedy && `greedy ${compared(first, last, 'greedy')}`,
    `${count(last.prompts)} questions: ${tasks.join(', ')}`,
    `evaluated at step ${count(last.step)}, ${duration(time - last.time)} ago`,
  ]
  return parts.filter(Boolean).join('; ')
}

/** An accuracy with its interval, and whether it has changed significantly. */
function compared(first: Evaluation, last: Evaluation, how: 'sampled' | 'greedy'): string {
  const [before, after] = [shareOf(first, how), shareOf(last, how)!]
  const now = accuracyText(after.share, after.n)
  if (first === last || before === undefined) return now
  const direction = directionOf(before, after)
  const word = { up: 'up from', down: 'down from', unclear: 'no clear change from' }[direction]
  const least = Math.ceil(100 * detectable(after.share, after.n))
  const shown = direction === 'unclear' ? ` (changes below ${least} points often do not show)` : ''
  return `${now}, ${word} ${percent(before.share, 0)} at step ${count(first.step)}${shown}`
}

/** `rank`: of the adapter; null if all parameters are trained. */
function trainedText(rank: number | null | undefined): string | undefined {
  if (rank === undefined) return undefined
  return rank === null ? 'all are trained' : `an adapter of rank ${rank} is trained`
}

const join = (...parts: Array<string | false | undefined>): string => parts.filter(Boolean).join('  ')
const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0)

/** What plugins say that they do, by their names: who teaches what. */
function doingRows({ plugins = [] }: Snapshot): [label: string, text: string][] {
  return plugins.flatMap(({ name, doing = [] }) => doing.map((line): [string, string] => [name, line]))
}
