// The swarm: who is there, what each peer sent, whether it helps, why groups were rejected.

import {
  bytes,
  count,
  effectText,
  type PeerInfo,
  percent,
  refusalText,
  si,
} from '../../protocol/api/index.ts'
import { peerName } from '../../protocol/text.ts'
import type { View } from '../data/store.ts'
import { filterNote } from '../filter.ts'
import type { Theme } from '../screen/theme.ts'
import { bar, sparkline } from '../widgets/chart.ts'
import { type Block, beside, panel } from '../widgets/panel.ts'
import { cell, firstThatFits, type Row } from '../widgets/row.ts'
import { orderNote, type TableOptions, tableHit, tableRows } from '../widgets/table.ts'
import { harmPieces, learntPieces, values } from './overview-parts.ts'
import { COLUMNS, chosenPeer, FIRST_ORDER, peerColumns, peerRows, peersOf } from './swarm-peers.ts'
import type { Tab, TabProps } from './tab.ts'

export const swarm: Tab = {
  title: 'Swarm',
  short: 'Swarm',
  series: ['peers', 'received', 'published'],
  keys: 'j/k move  Enter details  s sort  m mute  c copy ID  d dial',
  render: renderSwarm,
  compact: compactSwarm,
  columns: COLUMNS,
  order: FIRST_ORDER,
  hit(props, column, row) {
    const { left, high } = sizesOf(props)
    const isInside = column < left && row < high - 1
    // In the box, below this node.
    return isInside ? tableHit(peerTable(props, left - 4, high - 3), column - 2, row - 2) : undefined
  },
  items: (view, ui) => peersOf(view, ui).map(({ id }) => id),
  copied: (view, ui) => chosenPeer(view, ui)?.id,
  peer(view, ui) {
    const peer = chosenPeer(view, ui)
    return peer && { ...peer, muted: peer.state === 'muted' }
  },
}

function sizesOf({ columns, rows }: TabProps) {
  const apart = columns >= 160 && rows >= 36
  const low = rows >= 26 ? 8 : 7
  const middle = 5
  return { apart, low, middle, high: rows - low - middle, left: apart ? Math.floor(columns * 0.68) : columns }
}

function renderSwarm(props: TabProps): Block {
  const { view, ui, columns, theme } = props
  const { snapshot } = view
  const chosen = chosenPeer(view, ui)
  const { apart, low, middle, high, left } = sizesOf(props)
  const half = Math.floor(columns / 2)
  const title = `Peers  ${peersOf(view, ui).length} of ${snapshot?.swarm?.peers.length ?? 0}${orderNote(ui.order ?? FIRST_ORDER)}${filterNote(ui.filter)}`
  const table = panel({ title, width: left, height: high, theme, rows: listRows(props, left - 4, high - 2) })
  const sharing = () =>
    panel({
      title: 'What has it learnt from, and do peers hurt?',
      width: columns,
      height: middle,
      theme,
      rows: sharingRows(view, columns - 4, theme),
    })
  const detail = (width: number, height: number): Block =>
    panel({
      title: chosen?.name ?? 'Peer',
      width,
      height,
      theme,
      rows: chosen ? peerRows(chosen, snapshot, width - 4) : ['no peers'],
    })
  return [
    ...(apart ? beside(table, detail(columns - left, high)) : table),
    ...(ui.open && chosen && !apart
      ? detail(columns, middle + low)
      : [
          ...sharing(),
          ...beside(
            panel({
              title: 'Traffic',
              width: half,
              height: low,
              theme,
              rows: trafficRows(view, half - 4, theme),
            }),
            panel({
              title: 'Why groups were refused',
              width: columns - half,
              height: low,
              theme,
              rows: refusalRows(view, columns - half - 4, theme),
            }),
          ),
        ]),
  ]
}

/** This node first, then its peers. */
function listRows(props: TabProps, width: number, height: number): Row[] {
  const { view, ui, theme } = props
  const { snapshot } = view
  if (!snapshot) return ['waiting for the daemon']
  if (!snapshot.swarm) return ['starting']
  if (snapshot.swarm?.enabled === false) return ['the swarm is off: this node trains alone']
  const { node, model, rollouts } = snapshot
  const self: Row = [
    '  ',
    ['bold', `${node.name} (you)`],
    `  ${theme.symbols.up} self  v${model?.policy.version ?? 0}  out ${count(rollouts?.published)} groups`,
  ]
  const table = peerTable(props, width, height - 1)
  const how = snapshot.swarm.isPrivate ? '`:invite` lets others join' : '`:join <peer ID>`'
  if (table.items.length === 0)
    return [self, ui.filter ? 'no peer matches the filter' : `no peers yet: ${how}`]
  return [self, ...tableRows(table, theme)]
}

const peerTable = ({ view, ui, theme }: TabProps, width: number, height: number): TableOptions<PeerInfo> => ({
  items: peersOf(view, ui),
  columns: peerColumns(view.snapshot?.time ?? 0, theme),
  width,
  height,
  cursor: ui.cursor,
  order: ui.order ?? FIRST_ORDER,
})

function compactSwarm(props: TabProps): Row[] {
  const { view, ui, columns, rows, theme } = props
  const chosen = chosenPeer(view, ui)
  const foot: Row[] =
    ui.open && chosen
      ? peerRows(chosen, view.snapshot, columns - 1)
      : ['', learntPieces(view, theme, columns)]
  return [...listRows(props, columns, rows - foot.length), ...foot]
}

function sharingRows(view: View, width: number, theme: Theme): Row[] {
  const { snapshot } = view
  if (snapshot && !snapshot.swarm) return ['starting']
  const sharing = snapshot?.sharing
  const learnt = learntPieces(view, theme, width)
  if (!sharing)
    return [
      learnt,
      snapshot?.swarm?.enabled === false ? 'the swarm is off' : 'no group of a peer has arrived yet',
    ]
  const names = new Map(snapshot.swarm?.peers.map(({ id, name }) => [id, name]))
  const parts = sharing.contributors.map(({ peer, share, weight, effect, setAside }) => {
    const found = setAside
      ? 'set aside'
      : effectText(effect === undefined ? {} : { effect }) || 'effect not yet known'
    return `${names.get(peer) ?? peerName(peer)} ${percent(share, 0)}, counts ${percent(weight, 0)}, ${found}`
  })
  return [
    learnt,
    harmPieces(view, width)!,
    parts.length > 0 ? `of the foreign gradient: ${parts.join('   ')}` : '',
  ]
}

function trafficRows(view: View, width: number, theme: Theme): Row[] {
  const { snapshot, rates } = view
  const s = snapshot?.swarm
  const r = snapshot?.rollouts
  const spark = (name: string) => sparkline(rising(values(view, name)), Math.max(0, width - 38), theme)
  const rate = (perMinute: number | undefined, perSecond: number | undefined) =>
    `${si(perMinute).padStart(6)}/min ${bytes(perSecond).padStart(8)}/s `
  const mesh = s?.peers.filter(({ state }) => state === 'mesh').length
  const connected = `${s?.connected ?? '-'} connected, ${mesh ?? '-'} in the mesh`
  const reach = s?.reachability ?? 'reach -'
  const address = s?.addresses.find((one) => !one.startsWith('/ip4/127.')) ?? ''
  return [
    firstThatFits(width, [`swarm ${s?.name ?? '-'}  ${connected}`, connected]),
    `in    ${count(r?.received).padStart(7)} ${rate(rates.inPerMinute, rates.bytesInPerSecond)}${spark('received')}`,
    `out   ${count(r?.published).padStart(7)} ${rate(rates.outPerMinute, rates.bytesOutPerSecond)}${spark('published')}`,
    `pool  ${count(r?.pool.own)} own, ${count(r?.pool.foreign)} foreign groups`,
    firstThatFits(width, [`${reach}  ${address}`, reach]),
  ]
}

/** Differences between points: the useful view of a counter. */
const rising = (counts: readonly number[]): number[] =>
  counts.slice(1).map((value, i) => Math.max(0, value - counts[i]!))

function refusalRows({ snapshot }: View, width: number, theme: Theme): Row[] {
  const refused = Object.entries(snapshot?.rollouts?.refused ?? {}).sort(([, a], [, b]) => b - a)
  if (refused.length === 0) return ['none']
  const most = Math.max(1, refused[0]![1])
  return refused.map(
    ([reason, n]) =>
      `${cell(refusalText(reason), 20)} ${count(n).padStart(7)}  ${bar(n / most, Math.max(0, width - 32), theme)}`,
  )
}
