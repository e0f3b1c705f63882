// Plugins' state: with a checkpoint, back from it, and between peers.

import { expect, test } from 'vitest'
import type { Hooks } from '../../protocol/plugin/index.ts'
import { at, composeView, keyOf, make, plugin, saved, setUp } from './setup.ts'

/** Keeps a byte, told by `log`. */
function keeping(log: string[] = []): () => Hooks {
  return () => {
    let byte = 0
    return {
      save: () => Uint8Array.of(byte),
      load(state) {
        if (state[0] === 99) throw new Error('damaged')
        byte = state[0]!
        log.push(`load ${byte}`)
      },
      open() {
        log.push(`open ${byte}`)
      },
      observe() {
        byte += 1
      },
    }
  }
}

test('state is saved under its plugin and version, and loaded before anything else', async () => {
  const log: string[] = []
  const library = plugin('library', 'skill', keeping(log), { stateVersion: 2 })
  const { plugins } = await setUp([library])
  await plugins.round({ step: 0 }).observe([])
  const kept = await saved(plugins)
  expect(kept).toEqual([{ plugin: 'skill/library', version: 2, bytes: Uint8Array.of(1) }])
  log.length = 0
  await plugins.restore(5, [{ ...kept[0]!, bytes: Uint8Array.of(7) }])
  expect(log).toEqual(['load 7', 'open 7'])
  expect((await saved(plugins))[0]?.bytes).toEqual(Uint8Array.of(7))
})

test('going back to a checkpoint without a state of it makes the plugin begin anew', async () => {
  const { plugins } = await setUp([plugin('library', 'skill', keeping())])
  await plugins.round({ step: 0 }).observe([])
  await plugins.restore(0, [])
  expect((await saved(plugins))[0]?.bytes).toEqual(Uint8Array.of(0))
})

test('a state under the name of the last version is loaded, and saved under the present one', async () => {
  const { plugins } = await setUp([plugin('library', 'skill', keeping(), { formerly: 'shelf' })])
  await plugins.restore(0, [{ plugin: 'skill/shelf', version: 1, bytes: Uint8Array.of(5) }])
  expect(await saved(plugins)).toEqual([{ plugin: 'skill/library', version: 1, bytes: Uint8Array.of(5) }])
})

test('a state of another version, or one that does not load, is reported and dropped', async () => {
  const { plugins, troubles } = await setUp([plugin('library', 'skill', keeping())])
  const state = { plugin: 'skill/library', version: 1, bytes: Uint8Array.of(5) }
  await plugins.restore(0, [{ ...state, version: 3 }])
  expect(troubles[0]).toMatchObject({
    refused: true,
    message: expect.stringMatching(/version 3, but it reads version 1/),
  })
  await plugins.restore(0, [{ ...state, bytes: Uint8Array.of(99) }])
  expect(troubles[1]).toMatchObject({ hook: 'load', message: 'damaged' })
  expect((await saved(plugins))[0]?.bytes).toEqual(Uint8Array.of(0))
  await plugins.restore(0, [state, { plugin: 'skill/gone', version: 1, bytes: Uint8Array.of(1) }])
  expect((await saved(plugins))[0]?.bytes).toEqual(Uint8Array.of(5))
})

test('a state that is too large is not saved, and counts as a failure', async () => {
  const large = plugin(
    'large',
    'skill',
    { save: () => new Uint8Array(11) },
    { budget: () => ({ stateBytes: 10 }) },
  )
  const { plugins, troubles } = await setUp([large])
  expect(await saved(plugins)).toEqual([])
  expect(troubles[0]?.message).toMatch(/11 bytes, its limit is 10/)
})

test('what needs solutions may remember them from before a restart: all of its text is looked at', async () => {
  const prompt = at(1)
  const hint = () =>
    plugin(
      'hint',
      'hint',
      () => {
        let told = ''
        return {
          save: () => new TextEncoder().encode(told),
          load(state) {
            told = new TextDecoder().decode(state)
          },
          compose: () => ({ before: `The answer is ${told}. `, arm: 'hint', tainted: false }),
        }
      },
      { needs: ['privileged'] },
    )
  const bytes = new TextEncoder().encode(keyOf(prompt))
  const { made, world, troubles } = make([hint()])
  const plugins = await made
  await plugins.open(world, 0, [{ plugin: 'hint/hint', version: 1, bytes }])
  expect(await plugins.round({ step: 0 }).compose(composeView(prompt))).toBeUndefined()
  expect(troubles[0]).toMatchObject({
    refused: true,
    message: expect.stringMatching(/gives the answer away/),
  })
  const other = await plugins.round({ step: 0 }).compose(composeView(at(2)))
  expect(other?.tainted).toBe(true)
})

test('the last state of a plugin that is switched off, or no longer says it, stays in the checkpoint', async () => {
  let byte = 1
  const library = plugin('library', 'skill', {
    save() {
      if (byte > 2) throw new Error('cannot be written')
      return Uint8Array.of(byte)
    },
    load() {},
  })
  const { plugins } = await setUp([library])
  await saved(plugins)
  byte = 2
  const kept = await saved(plugins)
  byte = 3
  for (let failures = 0; failures < 4; failures++) expect(await saved(plugins)).toEqual(kept)
  expect(plugins.status().find(({ name }) => name === 'library')?.state).toBe('off')
  await plugins.restore(0, [])
  expect(await saved(plugins)).toEqual([])
  await plugins.restore(0, kept)
  expect(await saved(plugins)).toEqual(kept)
})

test('peers exchange the state of plugins that merge, and can switch off no more than the merging', async () => {
  const merged: [string, number][] = []
  const library = plugin('library', 'skill', {
    share: () => Uint8Array.of(1, 2),
    merge(remote, from) {
      if (remote[0] === 0xff) throw new Error('cannot be read')
      merged.push([from, remote.length])
    },
    compose: () => ({ before: 'x', arm: 'skill', tainted: false }),
  })
  const told = plugin(
    'told',
    'hint',
    { share: () => Uint8Array.of(9), merge() {} },
    { needs: ['privileged'] },
  )
  const alone = plugin('alone', 'skill', { share: () => new Uint8Array() })
  const { plugins, troubles } = await setUp([library, told, alone])
  const { shared } = plugins
  expect(shared.wanted()).toEqual([{ name: 'skill/library', version: 1 }])
  expect(await shared.own('skill/library')).toEqual(Uint8Array.of(1, 2))
  expect(await shared.own('skill/alone')).toBeUndefined()
  expect(await shared.own('hint/told')).toBeUndefined()
  await shared.received('skill/library', 'peer', Uint8Array.of(3))
  await shared.received('skill/library', 'peer', new Uint8Array(65_537))
  await shared.received('skill/unknown', 'peer', Uint8Array.of(3))
  expect(merged).toEqual([['peer', 1]])
  const lie = (from: string) => shared.received('skill/library', from, Uint8Array.of(0xff))
  for (let i = 0; i < 4; i++) await lie('liar')
  expect(shared.wanted()).toEqual([{ name: 'skill/library', version: 1 }])
  for (const from of ['another', 'third', 'fourth']) await lie(from)
  expect(troubles.map(({ message, switchedOff }) => [message, switchedOff])).toEqual([
    ['cannot be read', false],
    ['cannot be read', false],
    ['cannot be read', false],
    ['it no longer merges states of peers', false],
  ])
  expect(shared.wanted()).toEqual([])
  expect(plugins.status().find(({ name }) => name === 'library')).toMatchObject({
    state: 'failing',
    strikes: 0,
  })
})
