// The swarm: who is there, what came from each, why groups were refused.

import { Box } from 'ink'
import type { ReactElement } from 'react'
import {
  bytes,
  count,
  decimal,
  duration,
  type PeerInfo,
  percent,
  si,
  signed,
} from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { bar, sparkline } from '../widgets/chart.ts'
import { Panel, Side } from '../widgets/panel.tsx'
import { cell, type Row } from '../widgets/row.ts'
import { type Column, sortedBy, tableRows } from '../widgets/table.ts'
import { values } from './overview-parts.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

export const swarm: Tab = {
  title: 'Swarm',
  short: 'Swarm',
  series: ['peers', 'received', 'published'],
  keys: 'j/k move  Enter details  s sort  / filter',
  render: (props) => <Swarm {...props} />,
  count: (view, ui) => peersOf(view, ui).length,
}

const share = (part: number, whole: number): number | undefined => (whole > 0 ? part / whole : undefined)

function columnsAt(now: number, { symbols }: Theme): Array<Column<PeerInfo>> {
  const mark = { mesh: symbols.up, up: symbols.up, down: symbols.down, muted: symbols.failed }
  return [
    { title: 'NAME', width: 16, grows: true, drop: 0, text: (p) => p.name },
    {
      title: 'STATE',
      width: 7,
      drop: 0,
      text: (p) => `${mark[p.state]} ${p.state}`,
      tone: (p) => (p.state === 'muted' ? 'failure' : p.state === 'down' ? 'plain' : 'ok'),
    },
    {
      title: 'RTT',
      width: 7,
      align: 'right',
      drop: 1,
      text: (p) => (p.rttMs === undefined ? '-' : `${Math.round(p.rttMs)} ms`),
      value: (p) => -(p.rttMs ?? 1e9),
    },
    {
      title: 'SEEN',
      width: 8,
      align: 'right',
      drop: 4,
      text: (p) => (p.lastSeen === undefined ? '-' : duration(now - p.lastSeen)),
      value: (p) => p.lastSeen ?? 0,
    },
    {
      title: 'IN',
      width: 7,
      align: 'right',
      drop: 0,
      text: (p) => count(p.received),
      value: (p) => p.received,
    },
    {
      title: 'USED',
      width: 6,
      align: 'right',
      drop: 0,
      text: (p) => percent(share(p.trained, p.received), 0),
      value: (p) => share(p.trained, p.received) ?? -1,
    },
    {
      title: 'REFUSED',
      width: 7,
      align: 'right',
      drop: 0,
      text: (p) => percent(share(p.refused, p.received), 0),
      value: (p) => share(p.refused, p.received) ?? -1,
    },
    {
      title: 'REWARD',
      width: 7,
      align: 'right',
      drop: 2,
      text: (p) => decimal(p.reward),
      value: (p) => p.reward ?? -1,
    },
    {
      title: 'VERSION',
      width: 8,
      align: 'right',
      drop: 3,
      text: (p) => (p.version === undefined ? '-' : `v${p.version}`),
      value: (p) => p.version ?? -1,
    },
    {
      title: 'SCORE',
      width: 6,
      align: 'right',
      drop: 5,
      text: (p) => signed(p.score, 1),
      value: (p) => p.score ?? -1e9,
    },
  ]
}

const SORTS = ['IN', 'USED', 'REFUSED', 'REWARD', 'RTT', 'SEEN', 'NAME']

function peersOf({ snapshot }: View, { filter }: TabUi): PeerInfo[] {
  const peers = snapshot?.swarm?.peers ?? []
  const wanted = filter.toLowerCase()
  return wanted
    ? peers.filter((p) => `${p.name} ${p.id} ${p.state}`.toLowerCase().includes(wanted))
    : [...peers]
}

function Swarm({ view, ui, columns, rows, theme }: TabProps): ReactElement {
  const { snapshot } = view
  const info = snapshot?.swarm
  const now = snapshot?.time ?? 0
  const table = columnsAt(now, theme)
  const sort = table.find(({ title }) => title === SORTS[ui.sort % SORTS.length])!
  const peers = sortedBy(peersOf(view, ui), sort)
  const chosen = peers[Math.min(ui.cursor, peers.length - 1)]
  const low = rows >= 26 ? 8 : 7
  const details = chosen && (ui.open || rows >= 34)
  const detailHeight = details ? 5 : 0
  const high = rows - low - detailHeight
  const title = `Peers  ${peers.length} of ${info?.peers.length ?? 0}   sort: ${sort.title.toLowerCase()}${ui.filter ? `   filter: ${ui.filter}` : ''}`
  const empty =
    info?.enabled === false
      ? 'the swarm is off: this node trains alone'
      : 'no peers yet: `waggle join <peer ID>`'
  const list =
    peers.length > 0
      ? tableRows(
          { items: peers, columns: table, width: columns - 4, height: high - 2, cursor: ui.cursor },
          theme,
        )
      : [empty]
  const half = Math.floor(columns / 2)
  return (
    <Box flexDirection="column">
      <Panel title={title} width={columns} height={high} theme={theme} rows={list} />
      <Side>
        <Panel
          title="Traffic"
          width={half}
          height={low}
          theme={theme}
          rows={trafficRows(view, half - 4, theme)}
        />
        <Panel
          title="Why groups were refused"
          width={columns - half}
          height={low}
          theme={theme}
          rows={refusalRows(view, columns - half - 4, theme)}
        />
      </Side>
      {details && (
        <Panel
          title={chosen.name}
          width={columns}
          height={detailHeight}
          theme={theme}
          rows={detailRows(chosen)}
        />
      )}
    </Box>
  )
}

function trafficRows(view: View, width: number, theme: Theme): Row[] {
  const { snapshot, rates } = view
  const s = snapshot?.swarm
  const r = snapshot?.rollouts
  const spark = (name: string) => sparkline(rising(values(view, name)), Math.max(0, width - 38), theme)
  const rate = (perMinute: number | undefined, perSecond: number | undefined) =>
    `${si(perMinute).padStart(6)}/min ${bytes(perSecond).padStart(8)}/s `
  const rows: Row[] = [
    `swarm  ${s?.name ?? '-'}`,
    `in    ${count(r?.received).padStart(7)} ${rate(rates.inPerMinute, rates.bytesInPerSecond)}${spark('received')}`,
    `out   ${count(r?.published).padStart(7)} ${rate(rates.outPerMinute, rates.bytesOutPerSecond)}${spark('published')}`,
    `pool  ${count(r?.pool.own)} own, ${count(r?.pool.foreign)} foreign groups`,
    `reach ${s?.reachability ?? '-'}  ${s?.addresses[0] ?? ''}`,
  ]
  const { sharing } = snapshot ?? {}
  if (sharing) {
    const effect = sharing.effect === undefined ? '' : ` ${signed(sharing.effect * 100, 0)} %`
    rows.push(`sharing ${sharing.verdict}${effect}, J ${sharing.foreign}`)
  }
  return rows
}

/** Growth from one point to the next, which is what a counter's curve is looked at for. */
const rising = (counts: readonly number[]): number[] =>
  counts.slice(1).map((value, i) => Math.max(0, value - counts[i]!))

function refusalRows({ snapshot }: View, width: number, theme: Theme): Row[] {
  const refused = Object.entries(snapshot?.rollouts?.refused ?? {}).sort(([, a], [, b]) => b - a)
  if (refused.length === 0) return ['none']
  const most = Math.max(1, refused[0]![1])
  return refused.map(
    ([reason, n]) =>
      `${cell(reason, 20)} ${count(n).padStart(7)}  ${bar(n / most, Math.max(0, width - 32), theme)}`,
  )
}

function detailRows(peer: PeerInfo): Row[] {
  const { id, agent, address, sameTokenizer, received, verified, trained, refused, reward } = peer
  const tokenizer =
    sameTokenizer === undefined ? '' : sameTokenizer ? '  same tokenizer' : '  another tokenizer: text only'
  return [
    `id ${id}${agent ? `  ${agent}` : ''}`,
    `${address ?? 'no address'}${tokenizer}`,
    `sent ${count(received)}  verified ${count(verified)}  trained on ${count(trained)}  refused ${count(refused)}  mean reward as re-checked here ${decimal(reward)}`,
  ]
}
