// What a person sees who waits for the first round of a real model. The figures are those of SmolLM2 on two cores.

import { expect, test } from 'vitest'
import type { PhaseInfo, Snapshot } from '../../protocol/api/index.ts'
import { TABS } from '../../tui/tabs/index.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { until } from './screen.ts'
import { type Screen, show } from './show.ts'

const LOADING: PhaseInfo = {
  ...{ name: 'load', seconds: 5, done: 74_500_000, total: 98_400_000, unit: 'bytes' },
  ...{ fraction: 0.757, perSecond: 16e6, secondsLeft: 1.5 },
}
const EVALUATING: PhaseInfo = {
  ...{ name: 'evaluate', seconds: 95, done: 92, total: 120, unit: 'answers' },
  ...{ fraction: 0.77, perSecond: 0.97, tokensPerSecond: 21.4, secondsLeft: 28 },
}
const WRITING: PhaseInfo = {
  ...{ name: 'write', seconds: 60, done: 18, total: 64, unit: 'answers' },
  ...{ fraction: 0.42, perSecond: 0.3, tokensPerSecond: 12.6 },
}
const TRAINING: PhaseInfo = {
  ...{ name: 'train', seconds: 34, done: 5366, total: 12_480, unit: 'tokens' },
  ...{ fraction: 0.43, perSecond: 158, secondsLeft: 45 },
}

const node = createScriptedNode()
const { time, node: who, swarm, machine, engine, model, limits, rollouts } = node.snapshot()
const STARTING: Snapshot = { v: 1, time, state: 'STARTING', node: who, phases: [LOADING] }
const FIRST_ROUND: Snapshot = {
  ...{ v: 1, time, state: 'EVALUATING', node: who, phases: [EVALUATING, WRITING] },
  ...(swarm && { swarm }),
  ...(machine && { machine }),
  ...(engine && { engine }),
  ...(model && { model }),
  ...(limits && { limits }),
  ...(rollouts && { rollouts }),
  training: { step: 0, next: { waiting: 3, due: 8 }, generateTokensPerSecond: 12.6 },
}
const FIRST_STEP: Snapshot = {
  ...FIRST_ROUND,
  ...{ state: 'TRAINING', phases: [TRAINING, EVALUATING, WRITING] },
}

const SIZES = [
  [80, 24],
  [100, 30],
  [120, 40],
  [160, 45],
] as const

const at = async (snapshot: Snapshot, [columns, rows]: readonly [number, number]): Promise<Screen> =>
  show({ columns, rows, snapshot: () => snapshot, groups: [], series: [] })

const textOf = async ({ emulator }: Screen): Promise<string> => (await emulator.text()).join('\n')

test.each(SIZES)('in the first round at %i x %i no chart says just that it has no data', async (...size) => {
  for (const snapshot of [STARTING, FIRST_ROUND, FIRST_STEP]) {
    const screen = await at(snapshot, size)
    for (const key of TABS.keys()) {
      await screen.press(String(key + 1))
      const all = await textOf(screen)
      expect(all).not.toContain('no data')
      expect(all).not.toMatch(/ - tok\/s|nothing to do|loading$/m)
    }
    screen.close()
  }
})

test.each(SIZES)('a chart says what its first value waits for, at %i x %i', async (...size) => {
  const screen = await at(FIRST_STEP, size)
  await screen.press('4')
  const all = await textOf(screen)
  expect(all).toContain('training 43 %')
  expect(all).toContain('evaluating 77 %')
  expect(all).toContain('writing answers 42 %')
})

test('a node that loads its model shows how far it is', async () => {
  const screen = await at(STARTING, [80, 24])
  const all = await textOf(screen)
  expect(all).toContain('STARTING 75 %')
  expect(all).toContain('loading the model 75 %')
  expect(all).not.toContain('trains alone')
})

test('the speed of a round that still runs is shown', async () => {
  expect(await textOf(await at(FIRST_ROUND, [80, 24]))).toMatch(/gen +12\.6 tok\/s/)
})

/** A view in windows so large that nothing is left out. */
async function wholeOf(snapshot: Snapshot, key: string): Promise<string> {
  let all = ''
  for (const size of [
    [420, 60],
    [160, 70],
    [100, 70],
  ] as const) {
    const screen = await show({ columns: size[0], rows: size[1], snapshot: () => snapshot })
    await screen.press(key)
    if (key === '3') await until(() => screen.store.view().groups.length > 0)
    all += await textOf(screen)
    screen.close()
  }
  return all
}

/** What stands before an ellipsis. */
const beforeDots = (text: string): string[] =>
  [...text.matchAll(/(\S+) ?…/g)].map(([, word]) => word!.replace(/│/g, '')).filter((word) => word !== '')

const UNIT = '(%|[kMG]?B|k|M|s|min|h|tok|tokens|groups|answers|rollouts|cores)'
/** Addresses and the like may be cut. */
const LONG = 12

test.each(TABS.map(({ title }, i) => [title, String(i + 1)] as const))(
  '%s cuts no word and no amount, at 80, 100, 120 and 160 columns',
  async (_title, key) => {
    const busy = createScriptedNode()
    busy.advance(400)
    const later = { ...busy.snapshot(), phases: [TRAINING, WRITING] }
    for (const snapshot of [later, FIRST_STEP]) {
      const whole = await wholeOf(snapshot, key)
      const words = new Set(whole.split(/[\s│…]+/).map((word) => word.replace(/[,:]$/, '')))
      for (const [columns, rows] of SIZES) {
        const screen = await show({ columns, rows, snapshot: () => snapshot })
        await screen.press(key)
        if (key === '3') await until(() => screen.store.view().groups.length > 0)
        const text = await textOf(screen)
        screen.close()
        const cut = beforeDots(text).filter((word) => word.length <= LONG)
        expect(cut.filter((word) => !words.has(word))).toEqual([])
        // With the word before it, so that it is the same number.
        const numbers = [...text.matchAll(/[a-z]+ [\d.,]+ ?(?=…)/g)].map(([found]) => found.trim())
        expect(numbers.filter((found) => new RegExp(`\\b${found} ${UNIT}\\b`).test(whole))).toEqual([])
      }
    }
  },
)
