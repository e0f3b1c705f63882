// The overview's panels as rows of text, each answering one question. Unknown values are left out or shown as
// a dash.

import {
  accuracyText,
  agentsText,
  averagedText,
  awaitedTexts,
  bytes,
  count,
  decimal,
  directionOf,
  duration,
  type GroupCounts,
  groupsText,
  type HeadsInfo,
  heldOutMoved,
  learntFrom,
  nextTexts,
  percent,
  recipeTexts,
  refusalsText,
  type Snapshot,
  servingText,
  shareOf,
  sharingText,
  shorterTexts,
  si,
  signed,
  tryingText,
} from '../../protocol/api/index.ts'
import { safeText } from '../../protocol/text.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { axisDecimal, bar, lineChart, sparkline } from '../widgets/chart.ts'
import { evenly } from '../widgets/curve.ts'
import {
  type Judgement,
  judgeClipped,
  judgeEntropy,
  judgeEss,
  judgeGradient,
  judgeKl,
  trend,
} from '../widgets/judge.ts'
import type { Piece, Row } from '../widgets/row.ts'
import { firstThatFits, rowWidth, spread } from '../widgets/row.ts'

/** Why a chart has no value yet. */
export function emptyText(
  { snapshot }: Pick<View, 'snapshot'>,
  of: Parameters<typeof awaitedTexts>[1],
  width: number,
): string {
  if (!snapshot) return 'waiting for the daemon'
  return firstThatFits(width, awaitedTexts(snapshot, of)) as string
}

export const values = (view: View, name: string): number[] =>
  (view.series.get(name) ?? []).map(([, , v]) => v)

export function rewardPoints({ snapshot, series }: View) {
  return snapshot?.training?.rewardSeries ?? series.get('reward')
}

/** Is it learning? */
export function learningRows(view: View, width: number, height: number, theme: Theme): Row[] {
  const points = rewardPoints(view)
  const heldOut = heldOutPieces(view, theme, { roomy: width >= 72 })
  const rows: Row[] = [spread(rewardRow(view, theme, width - rowWidth(heldOut) - 2), heldOut, width)]
  const greedy = heldOutPieces(view, theme, { how: 'greedy', roomy: width >= 72 })
  const below: Row[] = [spread(signalRow(view, width - rowWidth(greedy) - 2, theme), greedy, width)]
  // Room for a chart comes first.
  below.push(...taskRows(view, width).slice(0, height >= 10 ? 3 : 1))
  const [widest, ...narrower] = recipeTexts(view.snapshot ?? {})
  if (widest && height >= 6) below.push(firstThatFits(width, [widest, ...narrower]))
  if (view.snapshot?.agents) below.push(`agents  ${agentsText(view.snapshot.agents)}`)
  if (view.snapshot?.serving) below.push(`serving  ${servingText(view.snapshot.serving)}`)
  const chartHeight = height - rows.length - below.length - 1
  const first = points?.[0]
  if (chartHeight >= 3) {
    const curve = { values: evenly(points ?? [], width * 2) }
    rows.push(
      ...lineChart(
        curve,
        {
          ...{ width, height: chartHeight, label: axisDecimal, span: 0.1 },
          empty: points || view.snapshot ? emptyText(view, 'step', width) : 'loading',
        },
        theme,
      ),
    )
    const from = first ? `${duration((view.snapshot?.time ?? 0) - first[0])} ago` : ''
    rows.push(spread(`      ${from}`, first ? 'now' : '', width))
  } else if (height - rows.length - below.length >= 1) {
    const spark = sparkline(
      (points ?? []).map(([, , v]) => v),
      Math.min(width - 10, 60),
      theme,
    )
    rows.push(`${spark}  ${first ? duration((view.snapshot?.time ?? 0) - first[0]) : ''}`)
  }
  return [...rows, ...below]
}

export function rewardRow({ snapshot }: View, { symbols }: Theme, width: number): Row {
  const now: Row = ['reward ', ['bold', decimal(snapshot?.training?.reward)]]
  const change = trend(snapshot?.training?.rewardSeries)
  if (!change) return now
  const moved = ` ${change.change > 0 ? symbols.rising : symbols.falling} ${signed(change.change)}`
  return firstThatFits(width, [[...now, `${moved} in ${duration(change.ms)}`], [...now, moved], now])
}

/** Sampled or greedy accuracy with its interval, and whether it has changed by more than chance. */
export function heldOutPieces(
  { snapshot }: View,
  { symbols }: Theme,
  { how = 'sampled', roomy = true }: { how?: 'sampled' | 'greedy'; roomy?: boolean } = {},
): Piece[] {
  const label = how === 'sampled' ? 'held-out ' : 'greedy '
  const evaluations = snapshot?.evaluations
  const last = evaluations?.at(-1)
  const now = last && shareOf(last, how)
  if (!now) return how === 'sampled' ? [`${label}-`] : []
  const first = evaluations![0]!
  const before = first === last ? undefined : shareOf(first, how)
  const pieces: Piece[] = [label, ['bold', accuracyText(now.share, now.n)]]
  if (before) {
    const direction = directionOf(before, now)
    const arrow = { up: symbols.rising, down: symbols.falling, unclear: symbols.steady }[direction]
    // A change that may be chance has no figure.
    const change = direction === 'unclear' ? '' : ` ${signed((now.share - before.share) * 100, 0)}`
    pieces.push(` ${arrow}${change}${roomy ? ` since step ${count(first.step)}` : ''}`)
  }
  return pieces
}

function signalRow({ snapshot }: View, width: number, theme: Theme): Row {
  const share = snapshot?.rollouts?.signalShare
  const label = `groups with signal ${percent(share, 0).padStart(5)} `
  return share === undefined
    ? label
    : `${label}${bar(share, Math.max(0, Math.min(24, width - label.length)), theme)}`
}

/** As many tasks in a row as fit. */
function taskRows({ snapshot }: View, width: number): string[] {
  const tasks = snapshot?.evaluations?.at(-1)?.tasks ?? snapshot?.training?.taskAccuracy ?? {}
  const rows: string[] = []
  for (const [task, share] of Object.entries(tasks)) {
    const fact = `${task} ${percent(share, 0)}`
    const longer = `${rows.at(-1)}  ${fact}`
    if (rows.length > 0 && rowWidth(longer) <= width) rows[rows.length - 1] = longer
    else rows.push(fact)
  }
  return rows
}

/** Is the machine fine? */
export function machineRows(view: View, width: number, theme: Theme): Row[] {
  const { snapshot } = view
  const { machine, engine, training, checkpoint, time } = { time: 0, ...snapshot }
  const spark = (name: string) => sparkline(values(view, name), Math.max(0, width - 22), theme)
  return [
    engine ? `${engine.kind} on ${engine.device}` : 'engine -',
    `gen   ${speed(training?.generateTokensPerSecond, training?.step)} ${spark('generate_speed')}`,
    `train ${speed(training?.trainTokensPerSecond, training?.step)} ${spark('train_speed')}`,
    `memory ${bytes(machine?.rssBytes)}${machine?.cpuCores === undefined ? '' : `  cpu ${machine.cpuCores.toFixed(1)} cores`}`,
    `disk ${bytes(machine?.diskFreeBytes)} free`,
    checkpoint
      ? `ckpt step ${count(checkpoint.step)}  ${duration(time - checkpoint.time)} ago`
      : 'ckpt none yet',
  ]
}

/** A node that was paused or has just started again has none. */
const speed = (value: number | undefined, step = 0): string =>
  value === undefined ? `none ${step > 0 ? 'now' : 'yet'}` : `${si(value).padStart(6)} tok/s`

/** What takes a while right now: as many facts as fit. */
export function doingRows(snapshot: View['snapshot'], width: number): Row[] {
  return (snapshot?.phases ?? []).slice(0, 2).map((phase) => firstThatFits(width, shorterTexts(phase)))
}

/** What is it doing? */
export function stepRows({ snapshot }: View, width: number, theme: Theme): Row[] {
  const training = snapshot?.training
  const running = doingRows(snapshot, width)
  const phases = training?.phases ?? []
  const longest = Math.max(...phases.map((p) => p.seconds), 1e-9)
  const rows: Row[] = [
    ...running,
    ...phases
      .slice(0, 4)
      .map(
        ({ name, seconds }) =>
          `${name.slice(0, 8).padEnd(9)}${bar(seconds / longest, width - 19, theme)} ${`${seconds.toFixed(2)} s`.padStart(8)}`,
      ),
  ]
  if (running.length > 0 && training?.next)
    rows.push(firstThatFits(width, nextTexts(training.next, training.step)))
  const batch = training?.batch
  if (batch) {
    const groups = `batch ${batch.own} own + ${batch.foreign} foreign groups`
    rows.push(firstThatFits(width, [`${groups}, ${batch.rollouts} rollouts`, groups]))
  } else if (running.length === 0) rows.push(emptyText({ snapshot }, 'step', width))
  if (training?.staleness)
    rows.push(`staleness p50 ${training.staleness.p50}  p95 ${training.staleness.p95} versions`)
  return rows
}

/** Is it stable? */
export function stabilityRows(view: View, width: number, theme: Theme): Row[] {
  const t = view.snapshot?.training
  const line = (label: string, value: string, series: string, found: Judgement | undefined): Row => [
    `${label.padEnd(13)}${value.padStart(8)}  `,
    found ? ([found.tone, found.word.padEnd(3)] as const) : '   ',
    sparkline(values(view, series), Math.max(0, Math.min(20, width - 26)), theme),
  ]
  const points = (name: string) => view.series.get(name)
  return [
    line(
      'mismatch KL',
      decimal(t?.mismatchKl),
      'mismatch_kl',
      t?.mismatchKl === undefined ? undefined : judgeKl(t.mismatchKl),
    ),
    line(
      'entropy',
      decimal(t?.entropy),
      'entropy',
      t?.entropy === undefined ? undefined : judgeEntropy(points('entropy'), t.entropy),
    ),
    line(
      'grad norm',
      decimal(t?.gradientNorm),
      'gradient_norm',
      t?.gradientNorm === undefined ? undefined : judgeGradient(points('gradient_norm'), t.gradientNorm),
    ),
    line(
      'clipped',
      percent(t?.clippedShare),
      'clipped',
      t?.clippedShare === undefined ? undefined : judgeClipped(t.clippedShare),
    ),
    line(
      'ESS',
      percent(t?.effectiveSampleSize, 0),
      'ess',
      t?.effectiveSampleSize === undefined ? undefined : judgeEss(t.effectiveSampleSize),
    ),
  ]
}

/** Does the swarm help me, and do I help it? */
export function swarmRows(view: View, width: number, height: number, theme: Theme): Row[] {
  const { snapshot, rates } = view
  const { swarm, rollouts: r } = snapshot ?? {}
  if (!snapshot) return []
  if (!swarm) return ['starting']
  if (!swarm.enabled)
    return ['off: this node trains alone', learntPieces(view, theme, width), ...taughtLines(snapshot, width)]
  const all = Object.values(r?.refused ?? {}).reduce((sum, n) => sum + n, 0)
  const rate = (perMinute: number | undefined) => (perMinute === undefined ? '' : `  ${si(perMinute)} /min`)
  const traffic = (perSecond: number | undefined) =>
    perSecond === undefined || width < 40 ? '' : `  ${bytes(perSecond)}/s`
  const reasons = width >= 40 && all > 0 ? `: ${refusalsText(r?.refused ?? {})}` : ''
  const into = `in ${count(r?.received)} groups${rate(rates.inPerMinute)}${traffic(rates.bytesInPerSecond)}`
  const out = `out ${count(r?.published)} groups${rate(rates.outPerMinute)}${traffic(rates.bytesOutPerSecond)}`
  return [
    `peers ${swarm.connected} connected${swarm.known === undefined ? '' : `, ${swarm.known} known`}`,
    swarm.hasLeft ? 'left: :join PEER connects again' : learntPieces(view, theme, width),
    ...(snapshot.heads && swarm.connected > 0 && height >= 6 ? [weightsPieces(snapshot.heads, width)] : []),
    ...(height >= 7 ? taughtLines(snapshot, width) : []),
    ...(height >= 5 ? [into] : []),
    `refused ${count(all)}${reasons}`,
    height >= 5 ? out : `in ${count(r?.received)}  out ${count(r?.published)} groups`,
  ]
}

/** What the model has learnt from, in its life and in the last hour, and whether held-out accuracy has moved. */
export function learntPieces(
  { snapshot }: Pick<View, 'snapshot'>,
  { symbols }: Theme,
  width = Number.POSITIVE_INFINITY,
): Piece[] {
  const learnt = learntFrom(snapshot?.rollouts)
  if (!learnt) return ['learnt from -']
  const { life, hour } = learnt
  if (life.own + life.foreign === 0) return ['learnt from no group yet']
  const short = ({ own, foreign, peers }: GroupCounts): string =>
    foreign === 0
      ? `${si(own)} own`
      : `${si(own)} own + ${si(foreign)}${peers === 0 ? ' of peers' : ` of ${count(peers)} peer${peers === 1 ? '' : 's'}`}`
  const moved = snapshot && heldOutMoved(snapshot)
  const arrow =
    moved && { up: symbols.rising, down: symbols.falling, unclear: symbols.steady }[moved.direction]
  const held = moved ? `  held-out ${arrow}` : ''
  const recent = hour ? `, last hour ${short(hour)}` : ''
  return firstThatFits(width, [
    [`learnt from ${groupsText(life)}${hour ? `, in the last hour ${groupsText(hour)}` : ''}${held}`],
    [`learnt from ${groupsText(life)}${recent}${held}`],
    [`learnt from ${short(life)}${recent}${held}`],
    [`learnt from ${short(life)}${recent}`],
    [`learnt from ${groupsText(life)}`],
    [`learnt from ${short(life)}`],
    [`learnt ${short(life)}`],
    [`learnt ${si(life.own)} + ${si(life.foreign)}`],
  ]) as Piece[]
}

/** Who teaches what, the first of several. */
function taughtLines({ plugins = [] }: Snapshot, width: number): string[] {
  const [first, ...others] = plugins.flatMap(({ doing = [] }) => doing)
  if (first === undefined) return []
  const more = others.length > 0 ? ` and ${count(others.length)} more` : ''
  return [safeText(`taught ${first}${more}`, { line: true, limit: width })]
}

/** With whom weights are averaged. */
function weightsPieces(heads: HeadsInfo, width = Number.POSITIVE_INFINITY): Piece[] {
  const { peers, trying } = heads
  if (trying) {
    const percent = `${Math.floor(100 * trying.fraction)} %`
    return firstThatFits(width, [[tryingText(trying)], [`trying weights, ${percent}`]]) as Piece[]
  }
  const groups = si(peers.reduce((sum, peer) => sum + peer.groups, 0))
  return firstThatFits(width, [
    [`weights ${averagedText(heads)}`],
    [`weights of ${count(peers.length)} peers, ${groups} groups`],
    [`weights ${count(peers.length)} peers`],
  ]) as Piece[]
}

/** Do peers hurt? */
export function harmPieces(
  { snapshot }: Pick<View, 'snapshot'>,
  width = Number.POSITIVE_INFINITY,
): Piece[] | undefined {
  const sharing = snapshot?.sharing
  if (!sharing) return undefined
  const tone = { helps: 'ok', 'no difference': 'ok', hurts: 'failure', 'not yet known': 'bold' } as const
  const short = {
    ...{ helps: 'no', 'no difference': 'no', hurts: 'yes' },
    'not yet known': 'not yet known',
  }[sharing.verdict]
  return firstThatFits(width, [
    [[tone[sharing.verdict], sharingText(sharing)]],
    ["do peers' groups hurt? ", [tone[sharing.verdict], short]],
  ]) as Piece[]
}
