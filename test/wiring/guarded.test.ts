// A plugin of the user that writes into what it is given: it fails, and what it was given is as it was.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { defaultConfig } from '../../daemon/config/schema.ts'
import type { PluginTrouble } from '../../daemon/host/host.ts'
import { PLUGINS, TASKS } from '../../daemon/wiring/built-in.ts'
import { guarded } from '../../daemon/wiring/guarded.ts'
import { openHost } from '../../daemon/wiring/node-plugins.ts'
import type { Hooks } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { plugin, setUp, VIEW } from '../host/setup.ts'
import { group } from '../trainer/groups.ts'

let folder: string | undefined
afterEach(() => {
  if (folder) rmSync(folder, { recursive: true })
  folder = undefined
})

/** A round and a batch with these hooks, on two groups, and what is left of these. */
async function play(hooks: Hooks) {
  const groups = [group([1, 0], { seed: 1 }), group([0, 1], { seed: 2 })]
  const before = structuredClone(groups)
  const { plugins, troubles } = await setUp([guarded(plugin('mine', 'control', hooks))])
  const round = plugins.round({ step: 0 })
  await round.reward(groups[0]!)
  const judged = await round.group(groups, VIEW)
  await round.observe(groups)
  const batch = plugins.batch({ step: 0 })
  const advantages = await batch.advantage(groups)
  return { isSame: () => expect(groups).toEqual(before), judged, advantages, troubles, groups }
}

const writes = ([one]: readonly Group[]): void => void one!.rollouts[0]!.tokens.fill(0)
const empties = ([one]: readonly Group[]): void => void Object.assign(one!, { rollouts: [] })

test.each<[string, RegExp, Hooks]>([
  ['a reward', /read only/, { reward: ({ rollouts }) => void Object.assign(rollouts[0]!, { reward: 9 }) }],
  ['a group', /read only/, { observe: empties }],
  [
    'the rollouts of a group',
    /not extensible/,
    { observe: ([one]) => void one!.rollouts.push(one!.rollouts[0]!) },
  ],
  ['the list of groups', /read only/, { observe: (groups) => void (groups as Group[]).reverse() }],
  ['tokens', /changed tokens/, { observe: writes }],
  ['tokens later', /changed tokens/, { observe: (groups) => Promise.resolve(groups).then(writes) }],
])('a hook that changes %s fails, and nothing is changed', async (_, message, hooks) => {
  const { isSame, troubles } = await play(hooks)
  isSame()
  expect(troubles).toEqual([
    expect.objectContaining({ name: 'mine', message: expect.stringMatching(message) }),
  ])
})

test('tokens that a hook changes before it throws are put right', async () => {
  const { isSame } = await play({
    observe([one]) {
      one!.rollouts[0]!.tokens.fill(0)
      throw new Error('then this')
    },
  })
  isSame()
})

test('a hook may change the lists that are its own', async () => {
  const { troubles, judged, advantages, groups } = await play({
    group: (some) => some.reverse(),
    modify(rows) {
      rows[0]![0] = 7
      return rows
    },
  })
  expect([troubles, judged, advantages[0]![0]]).toEqual([[], groups.toReversed(), 7])
})

test('a plugin that is a file is guarded', async () => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-guarded-'))
  writeFileSync(
    join(folder, 'mine.mjs'),
    `export default {
  name: 'mine', kind: 'control', api: 1, summary: 'Writes rewards.',
  settings: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
  create: () => ({ observe([group]) { group.rollouts[0].reward = 9 } }),
}`,
  )
  const troubles: PluginTrouble[] = []
  const plugins = await openHost(
    {
      config: { ...defaultConfig(), controls: [{ use: './mine.mjs' }] },
      ...{ seed: 1, tasks: TASKS, paths: { config: join(folder, 'config.toml'), plugins: folder } },
    },
    {
      ...{ builtIn: PLUGINS, now: () => 0, sleep: () => new Promise(() => {}), log() {} },
      onTrouble: (trouble) => troubles.push(trouble),
    },
  )
  const one = group([1, 0])
  await plugins.round({ step: 0 }).observe([one])
  await plugins.close()
  expect([one.rollouts[0]!.reward, troubles[0]?.message]).toEqual([1, expect.stringMatching(/read only/)])
})
