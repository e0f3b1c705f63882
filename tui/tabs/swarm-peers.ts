// The table of peers: columns, order and filter, and the details of one peer.

import {
  bytes,
  count,
  decimal,
  duration,
  effectText,
  type PeerInfo,
  percent,
  type Snapshot,
  signed,
} from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import { filterOf } from '../filter.ts'
import { createTheme, type Theme } from '../screen/theme.ts'
import type { Row } from '../widgets/row.ts'
import { type Column, type Order, sorted } from '../widgets/table.ts'
import { wrapText } from '../widgets/wrap.ts'
import type { TabUi } from './tab.ts'

const LIKENESS = {
  matched: 'writes as this node does',
  mismatched: 'does not write as this node does: no weight',
  unknown: 'too little seen to tell what writes',
} as const

const share = (part: number, whole: number): number | undefined => (whole > 0 ? part / whole : undefined)
/** What is refused at the door does not count as received. */
const refusedShare = ({ received, verified, refused }: PeerInfo): number | undefined =>
  share(refused, Math.max(received, verified + refused))

export function peerColumns(now: number, { symbols }: Theme): Array<Column<PeerInfo>> {
  const mark = {
    mesh: symbols.up,
    up: symbols.up,
    down: symbols.down,
    seen: symbols.down,
    muted: symbols.failed,
  }
  return [
    { title: 'NAME', key: 'A', width: 16, grows: true, drop: 0, text: (p) => p.name },
    {
      title: 'STATE',
      key: 'T',
      width: 7,
      drop: 0,
      text: (p) => `${mark[p.state]} ${p.state}`,
      tone: (p) =>
        p.state === 'muted' ? 'failure' : p.state === 'down' || p.state === 'seen' ? 'plain' : 'ok',
    },
    {
      title: 'RTT',
      key: 'R',
      width: 7,
      align: 'right',
      drop: 1,
      text: (p) => (p.rttMs === undefined ? '-' : `${Math.round(p.rttMs)} ms`),
      value: (p) => -(p.rttMs ?? 1e9),
    },
    {
      title: 'SEEN',
      key: 'E',
      width: 8,
      align: 'right',
      drop: 4,
      text: (p) => (p.lastSeen === undefined ? '-' : duration(now - p.lastSeen)),
      value: (p) => p.lastSeen ?? 0,
    },
    {
      title: 'IN',
      key: 'I',
      width: 7,
      align: 'right',
      drop: 0,
      text: (p) => count(p.received),
      value: (p) => p.received,
    },
    {
      title: 'USED',
      key: 'U',
      width: 6,
      align: 'right',
      drop: 0,
      text: (p) => percent(share(p.trained, p.received), 0),
      value: (p) => share(p.trained, p.received) ?? -1,
    },
    {
      title: 'REFUSED',
      key: 'F',
      width: 7,
      align: 'right',
      drop: 0,
      text: (p) => percent(refusedShare(p), 0),
      value: (p) => refusedShare(p) ?? -1,
    },
    {
      title: 'REWARD',
      key: 'W',
      width: 7,
      align: 'right',
      drop: 2,
      text: (p) => decimal(p.reward),
      value: (p) => p.reward ?? -1,
    },
    {
      title: 'VERSION',
      key: 'V',
      width: 8,
      align: 'right',
      drop: 3,
      text: (p) => (p.version === undefined ? '-' : `v${p.version}`),
      value: (p) => p.version ?? -1,
    },
    {
      title: 'SCORE',
      key: 'C',
      width: 6,
      align: 'right',
      drop: 5,
      text: (p) => signed(p.score, 1),
      value: (p) => p.score ?? -1e9,
    },
    moved('BYTES IN', 'B', (p) => p.bytesIn),
    moved('BYTES OUT', 'O', (p) => p.bytesOut),
    { title: 'VIA', width: 6, drop: 6, text: via },
  ]
}

function moved(title: string, key: string, read: (peer: PeerInfo) => number | undefined): Column<PeerInfo> {
  const text = (peer: PeerInfo) => {
    const value = read(peer)
    return value === undefined ? '-' : bytes(value)
  }
  return { title, key, width: 9, align: 'right', drop: 7, text, value: (peer) => read(peer) ?? -1 }
}

/** The transport of a connection, from its address. */
function via({ address }: PeerInfo): string {
  if (!address) return '-'
  if (address.includes('/p2p-circuit')) return 'relay'
  return /\/(quic|webrtc|wss|ws|tcp)\b/.exec(address)?.[1] ?? '-'
}

/** The order does not depend on the terminal. */
export const COLUMNS = peerColumns(0, createTheme({ ascii: true, color: false, env: {} }))
export const FIRST_ORDER: Order = { column: 'IN', back: false }

/** The peers in table order; the cursor counts from the first. */
export function peersOf({ snapshot }: View, ui: TabUi): PeerInfo[] {
  const peers = snapshot?.swarm?.peers ?? []
  const { matches } = filterOf(ui.filter)
  const found = peers.filter((p) => matches(`${p.name} ${p.id} ${p.state} ${via(p)}`))
  return sorted(found, COLUMNS, ui.order ?? FIRST_ORDER)
}

export function chosenPeer(view: View, ui: TabUi): PeerInfo | undefined {
  const peers = peersOf(view, ui)
  return peers[Math.min(ui.cursor, peers.length - 1)]
}

export function peerRows(peer: PeerInfo, snapshot: Snapshot | undefined, width: number): Row[] {
  const {
    id,
    agent,
    address,
    sameTokenizer,
    received,
    verified,
    trained,
    refused,
    reward,
    bytesIn,
    bytesOut,
  } = peer
  const tokenizer =
    sameTokenizer === undefined ? '' : sameTokenizer ? '  same tokenizer' : '  other tokenizer: text only'
  const traffic =
    bytesIn === undefined || bytesOut === undefined ? '' : `  in ${bytes(bytesIn)}  out ${bytes(bytesOut)}`
  const part = snapshot?.sharing?.contributors.find((contributor) => contributor.peer === id)
  const lines = [
    `id ${id}${agent ? `  ${agent}` : ''}`,
    `${address?.replace(`/p2p/${id}`, '') ?? 'no address'}${tokenizer}${traffic}`,
    `sent ${count(received)}  verified ${count(verified)}  trained on ${count(trained)} (${percent(share(trained, received), 0)})  refused ${count(refused)} (${percent(refusedShare(peer), 0)})  mean reward as verified here ${decimal(reward)}`,
    ...(part
      ? [
          `share of the foreign gradient ${percent(part.share, 0)}  weight ${decimal(part.weight, 2)}  effect ${effectText(part) || 'not yet known'}  ${LIKENESS[part.likeness]}${part.setAside ? `  set aside: ${part.setAside}` : ''}`,
        ]
      : []),
  ]
  return lines.flatMap((line) => wrapText(line, width))
}
