// Plugins in evaluation: only who may act there acts, on a copy of its state, and never with the reference solution.

import { expect, test } from 'vitest'
import type { Hooks } from '../../protocol/plugin/index.ts'
import { composeView, heldOut, keyOf, plugin, saved, setUp } from './setup.ts'

/** A library that counts how often it was asked, and shows the count. */
function counting(calls: string[] = []): () => Hooks {
  return () => {
    let count = 0
    return {
      save: () => Uint8Array.of(count),
      load(state) {
        count = state[0]!
      },
      compose(_, context) {
        count += 1
        calls.push(context.phase)
        return { before: `${count}: `, arm: 'skill', tainted: false }
      },
    }
  }
}

test('a plugin that may not act in evaluation is never called there', async () => {
  const calls: string[] = []
  const hooks: Hooks = {}
  for (const name of ['compose', 'open', 'save', 'observe', 'reward'] as const)
    hooks[name] = (() => void calls.push(name)) as never
  const { plugins } = await setUp([plugin('hint', 'hint', hooks)])
  calls.length = 0
  expect(await (await plugins.evaluation({ step: 0 })).compose(composeView(heldOut))).toBeUndefined()
  expect(calls).toEqual([])
})

test('a frozen library acts as it was when the evaluation began, and learns nothing in it', async () => {
  const calls: string[] = []
  const { plugins } = await setUp([plugin('library', 'skill', counting(calls), { testTime: 'frozen' })])
  await plugins.round({ step: 0 }).compose(composeView({ ...heldOut, seed: 1 }))
  for (let evaluation = 0; evaluation < 2; evaluation++) {
    const hooks = await plugins.evaluation({ step: 0 })
    expect((await hooks.compose(composeView(heldOut)))?.before).toBe('2: ')
    expect((await hooks.compose(composeView(heldOut)))?.before).toBe('3: ')
  }
  expect(calls).toEqual(['train', 'eval', 'eval', 'eval', 'eval'])
  expect((await saved(plugins))[0]?.bytes).toEqual(Uint8Array.of(1))
})

test('a live library goes on learning', async () => {
  const { plugins } = await setUp([plugin('library', 'skill', counting(), { testTime: 'live' })])
  await (await plugins.evaluation({ step: 0 })).compose(composeView(heldOut))
  expect((await saved(plugins))[0]?.bytes).toEqual(Uint8Array.of(1))
})

test('no plugin gets a reference solution in evaluation, and tainted text is always refused', async () => {
  const told: unknown[] = []
  const { plugins, troubles } = await setUp([
    plugin(
      'hint',
      'hint',
      {
        compose({ prompt }, context) {
          told.push(context.privileged(prompt), context.privileged({ ...prompt, seed: 1 }))
          return { before: 'Harmless. ', arm: 'hint', tainted: true }
        },
      },
      { needs: ['privileged'], testTime: 'frozen' },
    ),
  ])
  expect(await (await plugins.evaluation({ step: 0 })).compose(composeView(heldOut))).toBeUndefined()
  expect(told).toEqual([null, null])
  expect(troubles).toEqual([
    expect.objectContaining({ refused: true, message: expect.stringMatching(/evaluation/) }),
  ])
  expect(keyOf(heldOut)).not.toBe('')
})

test('who fails in an evaluation is out of it', async () => {
  let asked = 0
  const { plugins, troubles } = await setUp([
    plugin(
      'broken',
      'skill',
      {
        compose() {
          asked += 1
          throw new Error('broken')
        },
      },
      { testTime: 'live' },
    ),
  ])
  const evaluation = await plugins.evaluation({ step: 0 })
  for (let i = 0; i < 3; i++) expect(await evaluation.compose(composeView(heldOut))).toBeUndefined()
  expect(asked).toBe(1)
  expect(troubles).toHaveLength(1)
})
