// Rollouts: the newest groups, and one of them in full. Texts come from a model or a peer and have been made
// safe to draw.

import {
  clockTime,
  count,
  decimal,
  type GroupView,
  percent,
  type SampleView,
} from '../../protocol/api/index.ts'
import { peerName } from '../../protocol/text.ts'
import type { View } from '../data/store.ts'
import { filterNote, filterOf } from '../filter.ts'
import type { Theme } from '../screen/theme.ts'
import { type Block, beside, panel } from '../widgets/panel.ts'
import { firstThatFits, type Piece, type Row } from '../widgets/row.ts'
import { type Column, orderNote, sorted, type TableOptions, tableHit, tableRows } from '../widgets/table.ts'
import { wrapText } from '../widgets/wrap.ts'
import { emptyText } from './overview-parts.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

const mean = (rewards: readonly number[]): number =>
  rewards.reduce((a, b) => a + b, 0) / Math.max(1, rewards.length)
const spreadOf = (rewards: readonly number[]): number => {
  const m = mean(rewards)
  return Math.sqrt(mean(rewards.map((r) => (r - m) ** 2)))
}

function measured(
  title: string,
  key: string,
  drop: number,
  of: (rewards: readonly number[]) => number,
): Column<GroupView> {
  const value = ({ rewards }: GroupView) => of(rewards)
  return { title, key, width: 4, align: 'right', drop, text: (group) => value(group).toFixed(2), value }
}

const COLUMNS: Array<Column<GroupView>> = [
  { title: 'TASK', key: 'T', width: 12, grows: true, drop: 0, text: (g) => `${g.task}/${g.seed}` },
  { title: 'BY', key: 'B', width: 8, drop: 2, text: (g) => (g.origin === 'own' ? 'own' : g.authorName) },
  measured('R', 'R', 0, mean),
  measured('SD', 'D', 1, spreadOf),
  {
    title: 'USE',
    key: 'U',
    width: 4,
    drop: 3,
    text: (g) => (g.used === undefined ? '-' : g.used ? 'yes' : 'no'),
  },
]

export const rollouts: Tab = {
  title: 'Rollouts',
  short: 'Roll',
  series: [],
  groups: true,
  columns: COLUMNS,
  kinds: true,
  keys: 'j/k group  h/l sample  s all|own|foreign|mixed|wrong  / filter',
  render: renderRollouts,
  compact: ({ view, ui, columns, rows, theme }) => {
    const found = groupsOf(view, ui)
    const chosen = found[Math.min(ui.cursor, Math.max(0, found.length - 1))]
    if (ui.open && chosen) return groupRows(chosen, view, ui, columns - 1, theme)
    if (found.length === 0) return [noGroups(view, ui, columns)]
    const list = groupTable(found, ui, columns, rows - 2)
    return [...tableRows(list, theme), ...sharesRows(view, theme)].slice(0, rows)
  },
  exported: (view, ui) => ({
    kind: 'jsonl',
    text: groupsOf(view, ui)
      .map((group) => `${JSON.stringify(group)}\n`)
      .join(''),
  }),
  items: (view, ui) => groupsOf(view, ui).map(({ id }) => id),
  hit({ view, ui, columns, rows }, column, row) {
    const left = listWidth(columns)
    if (column >= left) return undefined
    return tableHit(groupTable(groupsOf(view, ui), ui, left - 4, rows - 3 - FOOT), column - 2, row - 1)
  },
}

const KINDS = ['all', 'own', 'foreign', 'mixed', 'wrong'] as const

/** Groups from the node, with texts; from an older node without them, built from its events. */
function groupsOf({ groups, events }: View, ui: TabUi): GroupView[] {
  const found: GroupView[] =
    groups.length > 0
      ? [...groups]
      : events
          .flatMap((e): GroupView[] =>
            e.type === 'group' ? [{ ...e, authorName: peerName(e.author), arm: e.arm ?? 'base' }] : [],
          )
          .reverse()
  const kind = KINDS[ui.sort % KINDS.length]!
  const { matches } = filterOf(ui.filter)
  const shown = found.filter(
    (g) =>
      (kind === 'all' ||
        g.origin === kind ||
        (kind === 'mixed' && spreadOf(g.rewards) > 0) ||
        (kind === 'wrong' && g.rewards.every((reward) => reward <= 0))) &&
      (ui.filter === '' || matches(searched(g))),
  )
  return sorted(shown, COLUMNS, ui.order)
}

/** Why the list is empty. */
function noGroups(view: View, ui: TabUi, width: number): string {
  if (view.isRecording) return 'a recording has no groups'
  const kind = KINDS[ui.sort % KINDS.length]!
  if (ui.filter !== '') return 'no group matches the filter'
  if (kind !== 'all') return `none of the newest groups is ${kind}`
  return emptyText(view, 'answers', width)
}

const searched = ({ task, seed, authorName, question = '', key = '', samples = [] }: GroupView): string =>
  [`${task}/${seed}`, authorName, question, key, ...samples.map(({ text }) => text)].join(' ')

const groupTable = (
  items: GroupView[],
  { cursor, order }: TabUi,
  width: number,
  height: number,
): TableOptions<GroupView> => ({ items, columns: COLUMNS, width, height, cursor, order })

const listWidth = (columns: number): number => Math.min(60, Math.floor(columns * 0.5))
/** Rows about all groups, below the list. */
const FOOT = 3

function renderRollouts({ view, ui, columns, rows, theme }: TabProps): Block {
  const groups = groupsOf(view, ui)
  const cursor = Math.min(ui.cursor, Math.max(0, groups.length - 1))
  const left = listWidth(columns)
  const right = columns - left
  const chosen = groups[cursor]
  const title = `Groups  ${KINDS[ui.sort % KINDS.length]}${orderNote(ui.order)}${filterNote(ui.filter)}`
  const foot = sharesRows(view, theme)
  const list: Row[] =
    groups.length > 0
      ? tableRows(groupTable(groups, ui, left - 4, rows - 2 - foot.length - 1), theme)
      : [noGroups(view, ui, left - 4)]
  while (list.length < rows - 2 - foot.length) list.push('')
  return beside(
    panel({ title, width: left, height: rows, theme, rows: [...list, ...foot] }),
    panel({
      title: chosen ? `${chosen.task}/${chosen.seed}  ${chosen.rewards.length} samples` : 'Group',
      width: right,
      height: rows,
      theme,
      rows: chosen ? groupRows(chosen, view, ui, right - 4, theme) : [],
    }),
  )
}

function sharesRows({ snapshot, groups }: View, theme: Theme): Row[] {
  const { rollouts: r, training: t } = snapshot ?? {}
  return [
    `rewards 0 ${histogram(groups, theme)} 1`,
    `right ${percent(r?.allRightShare, 0)}  wrong ${percent(r?.allWrongShare, 0)}  mixed ${percent(r?.signalShare, 0)}`,
    `length ${decimal(t?.completionTokens, 0)} tok  cut off ${percent(t?.truncatedShare)}`,
  ]
}

const BINS = 11

/** Histogram of rewards, from 0 to 1, in the kept groups. */
function histogram(groups: readonly GroupView[], { symbols }: Theme): string {
  const bins = new Array<number>(BINS).fill(0)
  for (const reward of groups.flatMap(({ rewards }) => rewards)) {
    const at = Math.round(Math.min(1, Math.max(0, reward)) * (BINS - 1))
    if (Number.isFinite(at)) bins[at] = bins[at]! + 1
  }
  const most = Math.max(1, ...bins)
  const levels = [...symbols.levels]
  return bins.map((n) => (n === 0 ? ' ' : levels[Math.ceil((n / most) * levels.length) - 1]!)).join('')
}

function groupRows(group: GroupView, view: View, ui: TabUi, width: number, theme: Theme): Row[] {
  const samples = group.samples ?? []
  const at = samples.length > 0 ? ui.inner % samples.length : 0
  const sample = samples[at]
  const author = group.origin === 'own' ? 'this node' : group.authorName
  const made = `v${count(group.version)}  level ${group.difficulty}${group.arm === 'base' ? '' : `  ${group.arm}`}`
  const rows: Row[] = [
    firstThatFits(width, [`${clockTime(group.time)}  by ${author}  policy ${made}`, `by ${author}  ${made}`]),
    [
      'rewards ',
      ...group.rewards.map(
        (r, i): Piece => (i === at && sample ? ['bold', `[${short(r)}]`] : ` ${short(r)} `),
      ),
    ],
    '',
  ]
  if (group.question) rows.push(['bold', 'QUESTION'], ...wrapText(group.question, width), '')
  if (group.key) rows.push([['bold', 'KEY'], `  ${group.key}`], '')
  if (sample) rows.push(...sampleRows(sample, at, samples.length, width, theme))
  else rows.push('This node does not keep the texts of its groups.')
  const methods = (view.snapshot?.plugins ?? []).filter(
    ({ kind }) => kind === 'estimator' || kind === 'correction',
  )
  if (sample && methods.length > 0)
    rows.push(
      '',
      ...wrapText(`methods  ${methods.map(({ kind, name }) => `${name} (${kind})`).join('  ')}`, width),
    )
  return rows
}

function sampleRows(sample: SampleView, at: number, of: number, width: number, { symbols }: Theme): Row[] {
  const { reward, tokens, finish, behaviourLogprob } = sample
  const facts = `${at + 1}/${of}  reward ${short(reward)}  ${tokens} tok  ${finish}`
  const rows: Row[] = [
    [['bold', 'SAMPLE '], facts],
    ...wrapText(sample.text, width).slice(0, 12),
    '',
    `${reward >= 1 ? symbols.up : symbols.down} ${reward >= 1 ? 'right' : 'not right'}`,
  ]
  if (behaviourLogprob !== undefined) rows.push(`logprob per token  ${decimal(behaviourLogprob)}`)
  return rows
}

const short = (reward: number): string => (Number.isInteger(reward) ? String(reward) : reward.toFixed(2))
