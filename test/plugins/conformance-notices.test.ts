// The conformance suite notices plugins that break its rules, each by the check that is meant for it.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { definePlugin, type Hooks, type Manifest } from '../../protocol/plugin/index.ts'
import { conformance, SUMS } from '../../protocol/plugin/testing/index.ts'
import type { Group } from '../../protocol/train/index.ts'

async function failing(create: () => Hooks, manifest: Manifest = {}): Promise<string[]> {
  const plugin = definePlugin({
    name: 'broken',
    kind: 'replay',
    api: 1,
    summary: 'Breaks a rule.',
    settings: z.strictObject({}),
    manifest,
    create,
  })
  const failed: string[] = []
  for (const { name, run } of conformance(plugin))
    await run().catch(() => failed.push(name.replace('replay/broken ', '')))
  return failed
}

const SAVED = 'goes on from a saved state as if nothing had happened'
const again = (group: Group, more: object) => ({
  ...group,
  rollouts: group.rollouts.map((one) => ({ ...one, ...more })),
})

test('a plugin that does nothing passes', async () => {
  expect(await failing(() => ({}))).toEqual([])
})

const scale = (factor: () => number): Hooks => ({
  modify: (advantages) => advantages.map((rows) => rows.map(() => factor())),
})

let shared = 0

test.each<[string, () => Hooks, Manifest, string[]]>([
  [
    'draws where nobody can repeat it',
    () => scale(() => (shared += 1)),
    {},
    ['decides the same again from the same seed', SAVED],
  ],
  [
    'gives advantages that are no numbers',
    () => scale(() => Number.NaN),
    {},
    [
      'trains on what was sampled, as it was sampled, and gives what fits together',
      'replays nothing whose log-probs nobody knows',
    ],
  ],
  [
    'gives columns that it does not name, or that do not fit',
    () => ({ correct: () => ({ columns: { own: 1 } }), columns: () => ({ own: [], other: 1 }) }),
    {},
    [
      'trains on what was sampled, as it was sampled, and gives what fits together',
      'replays nothing whose log-probs nobody knows',
    ],
  ],
  ...(
    [
      ['gives no advantages', { modify: () => undefined }],
      ['gives one reward for all', { reward: () => [1] }],
      ['gives rewards that are no numbers', { reward: ({ rollouts }: Group) => rollouts.map(() => '1') }],
      ['returns no groups', { group: () => undefined }],
    ] as unknown as [string, Hooks][]
  ).map(([what, hooks]): [string, () => Hooks, Manifest, string[]] => [
    what,
    () => hooks,
    {},
    [
      'trains on what was sampled, as it was sampled, and gives what fits together',
      'replays nothing whose log-probs nobody knows',
    ],
  ]),
  [
    'gives a promise of a correction',
    () => ({ correct: (async () => ({ loss: 1 })) as never }),
    {},
    ['reads only columns that there are'],
  ],
  [
    'trains under a conditioning of its own',
    () => ({ group: (groups) => groups.map((group) => again(group, { conditioning: Int32Array.of(1) })) }),
    {},
    [
      'trains on what was sampled, as it was sampled, and gives what fits together',
      'replays nothing whose log-probs nobody knows',
    ],
  ],
  [
    'replays what nobody knows the log-probs of',
    () => ({ group: (groups) => groups.map((group) => again(group, { replayed: 1 })) }),
    {},
    ['replays nothing whose log-probs nobody knows'],
  ],
  [
    'forgets',
    () => {
      let count = 0
      return { ...scale(() => (count += 1)), save: () => new Uint8Array(), load() {} }
    },
    {},
    [SAVED],
  ],
  [
    'saves and cannot load',
    () => ({ save: () => new Uint8Array() }),
    {},
    ['says who it is, in ways that a node understands', SAVED],
  ],
  [
    'asks for work without a budget',
    () => ({
      extend: ({ asked, groups }) =>
        asked > 0 ? [] : [{ id: 'a', prompt: groups[0]!.prompt, rollouts: 64, keep: 'probe' }],
    }),
    {},
    ['asks for nothing that it has no budget for'],
  ],
  [
    'throws where there is nothing',
    () => ({
      modify: (advantages) => [advantages[0]!.slice(), ...advantages.slice(1)],
    }),
    {},
    ['takes empty rounds and batches'],
  ],
  [
    'keeps everything',
    () => {
      let kept = 0
      return {
        observe(groups) {
          kept += groups.length
        },
        save: () => new Uint8Array(kept),
        load() {},
      }
    },
    { budget: () => ({ stateBytes: 10 }) },
    ['keeps its state within its bounds'],
  ],
  [
    'adds up what it hears twice',
    () => {
      let sum = 1
      return {
        share: () => Uint8Array.of(sum),
        merge(remote) {
          sum += remote[0] ?? 0
        },
      }
    },
    {},
    ['merges in any order and twice with the same result', 'merges nothing of what makes no sense'],
  ],
  [
    'tells the answer in an evaluation',
    () => ({
      compose: ({ prompt }, { phase }) =>
        phase === 'eval'
          ? { before: `The answer is ${SUMS.generate(prompt).key}. `, arm: 'hint', tainted: false }
          : undefined,
    }),
    { testTime: 'live' },
    ['brings nothing of the answer into an evaluation, and learns nothing there unless it says so'],
  ],
  [
    'gives the answer away in training',
    () => ({
      compose: ({ prompt }, context) => ({
        before: `It is ${context.privileged(prompt)?.key}. `,
        arm: 'hint',
        tainted: true,
      }),
    }),
    { needs: ['privileged'] },
    [
      'trains on what was sampled, as it was sampled, and gives what fits together',
      'replays nothing whose log-probs nobody knows',
    ],
  ],
])('a plugin that %s is noticed', async (_, create, manifest, expected) => {
  expect(await failing(create, manifest)).toEqual(expected)
})

test.each<[string, () => unknown]>([
  ['a promise of hooks', async () => ({ compose: () => undefined })],
  ['nothing', () => undefined],
  ['a hook that there is not', () => ({ compoze: () => undefined })],
])('a plugin whose create returns %s does not pass as one that does nothing', async (_, create) => {
  expect(await failing(create as () => Hooks)).toContain('says who it is, in ways that a node understands')
})
