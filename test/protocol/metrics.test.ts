// What each metric says of itself beside what it reads, so that a text cannot drift from its value unseen.

import { expect, test } from 'vitest'
import { METRICS, type Snapshot } from '../../protocol/api/index.ts'
import { createScriptedNode } from '../control/scripted-node.ts'

type Tree = Record<string, unknown>

const scripted = createScriptedNode()
scripted.advance(60)
const SEEN = scripted.snapshot()
/** A snapshot with everything in it. */
const FULL = {
  ...SEEN,
  training: { ...SEEN.training, guards: { 'roll-back': 1 } },
  rollouts: {
    ...SEEN.rollouts,
    ...{ trainedPeers: 3, trainedLastHour: { own: 5, foreign: 7, peers: 2 }, droppedTexts: 4 },
  },
  sharing: {
    ...{ effect: 0.2, low: -0.1, high: 0.4, unit: 'x', comparisons: 12, needed: 20, own: 8, foreign: 4 },
    ...{ limit: 16, weight: 0.7, verdict: 'helps', last: { own: 4, foreign: 3, peers: 2 }, cost: 0.05 },
    contributors: [
      {
        ...{ peer: SEEN.swarm!.peers[0]!.id, share: 0.6, weight: 0.5, effect: 0.1, comparisons: 9 },
        ...{ likeness: 'matched', setAside: 'lies' },
      },
    ],
  },
  serving: {
    ...{ model: 'tiny', maxTokens: 512, running: 1, waiting: 2, answered: 3, abandoned: 4, refused: 5 },
    ...{ tokens: 6, tokensPerSecond: 7, firstTokenSeconds: 8 },
    learning: { kept: 10, rated: 11, learnt: 12, again: 13 },
  },
  agents: {
    ...{ open: 2, begun: 1, rewarded: 9, groups: 4, rows: 30, split: 3, dropped: { late: 2 } },
    ...{ undelivered: { answers: 2, tokens: 50 }, unkept: { json: 1 }, reward: 0.4, evalReward: 0.5 },
  },
  heads: {
    ...{ lineage: 'l', size: 9, exchanges: 3, refused: 1, bytesIn: 20, bytesOut: 30 },
    audits: { seconds: 12, share: 0.04 },
    peers: [{ peer: 'p', version: 4, groups: 8, at: 0, isClipped: false }],
  },
  plugins: [
    ...(SEEN.plugins ?? []),
    {
      ...{ kind: 'correction', name: 'teachers', state: 'ok' },
      taught: [{ task: 't', teacher: 'peer/p', weight: 0.5, scores: { theirs: 0.6, own: 0.4 }, tokens: 30 }],
    },
  ],
  machine: { ...SEEN.machine, stateBytes: 1000, cpuSeconds: 9 },
  limits: {
    holds: [{ limit: 'hours', reason: 'r', since: SEEN.time - 60_000 }],
    ...{ cpuCores: 2, network: { monthBytes: 5, holds: [] } },
  },
} as unknown as Snapshot

/** Paths of all numbers and words, with a number for each element of a list. */
function leaves(tree: Tree, path: string[] = []): string[][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? leaves(value as Tree, [...path, key]) : [[...path, key]],
  )
}

function changed(tree: Tree, [key, ...rest]: readonly string[]): Tree {
  const copy = (Array.isArray(tree) ? [...tree] : { ...tree }) as Tree
  const value = tree[key!]
  copy[key!] =
    rest.length > 0
      ? changed(value as Tree, rest)
      : typeof value === 'number'
        ? value + 1.5
        : typeof value === 'boolean'
          ? !value
          : `${value}x`
  return copy
}

test('a metric reads what it says', () => {
  const all = leaves(FULL as unknown as Tree)
  const lines = METRICS.map(({ name, help, unit, read: shown, distribution }) => {
    const read = (snapshot: Snapshot) => [shown(snapshot), distribution?.(snapshot)]
    const before = JSON.stringify(read(FULL))
    const paths = all
      .filter(
        (path) =>
          JSON.stringify(read(changed(FULL as unknown as Tree, path) as unknown as Snapshot)) !== before,
      )
      .map((path) => path.map((key) => (/^\d+$/.test(key) ? '*' : key)).join('.'))
    return `${name}${unit ? ` (${unit})` : ''}: ${help} = ${[...new Set(paths)].slice(0, 6).join(', ') || 'nothing here'}`
  })
  expect(lines.join('\n')).toMatchSnapshot()
  // A certain word or the length of a list decides these.
  const rest = lines.filter((line) => line.endsWith('nothing here')).map((line) => line.split(/[ :]/)[0])
  expect(rest).toEqual([
    'waggle_node_paused',
    'waggle_node_degraded',
    'waggle_node_alerts',
    'waggle_sharing_set_aside_peers',
    'waggle_weights_averaged_peers',
  ])
})
