// Checks that every plugin must pass. Its author runs them:
//
//   import { test } from 'node:test'                            (or vitest)
//   import { conformance } from 'waggle/plugin/testing'
//   for (const { name, run } of conformance(plugin)) test(name, run)
//
// The plugin runs for some rounds on a scripted policy (drive.ts). Rules that the node itself enforces (hooks that
// throw or hang, rejected rewrites) are not tested here.

import { deepStrictEqual, ok } from 'node:assert/strict'
import { HELD_OUT_SEED } from '../../train/index.ts'
import { BudgetError } from '../context.ts'
import { correctionOf } from '../created.ts'
import { missingColumns } from '../expression/columns.ts'
import { NEEDS, SLOTS } from '../manifest.ts'
import { PLUGIN_API, type Plugin } from '../plugin.ts'
import { createDrive, type Drive, type DriveOptions } from './drive.ts'
import { settingsOf } from './settings.ts'
import { SUMS } from './sums.ts'

export interface Check {
  name: string
  run(): Promise<void>
}

export type ConformanceOptions = Omit<DriveOptions, 'tokens' | 'known'>

const ROUNDS = 8
const SHARED_BYTES = 64 * 1024
const STATE_BYTES = 4 * 1024 * 1024

// biome-ignore lint/suspicious/noExplicitAny: a plugin of whatever settings.
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of short checks.
export function conformance(plugin: Plugin<any>, options: ConformanceOptions = {}): Check[] {
  const drive = (more: DriveOptions = {}): Drive => createDrive(plugin, { ...options, ...more })
  const played = async (rounds: number, more: DriveOptions = {}): Promise<Drive> => {
    const driven = drive(more)
    await driven.hooks.open?.(driven.context())
    for (let round = 0; round < rounds; round++) await driven.round()
    return driven
  }
  const { manifest = {} } = plugin
  const checks: Record<string, () => Promise<void>> = {
    async 'says who it is, in ways that a node understands'() {
      ok(plugin.api === PLUGIN_API, `its api is ${plugin.api}, this is ${PLUGIN_API}`)
      ok(/^[a-z][a-z0-9_-]{0,63}$/.test(plugin.name), 'its name is not of a-z, 0-9, _ and -')
      ok(plugin.summary.length > 0, 'it has no summary')
      for (const need of manifest.needs ?? []) ok(need in NEEDS, `there is no need "${need}"`)
      for (const slot of manifest.claims ?? []) ok(slot in SLOTS, `there is no slot "${slot}"`)
      for (const [name, value] of Object.entries(
        manifest.budget?.(settingsOf(plugin, options.settings)) ?? {},
      ))
        ok(Number.isFinite(value) && value >= 0, `its budget of ${name} is ${value}`)
      const { hooks } = drive()
      ok(plugin.kind !== 'estimator' || hooks.advantage, 'it is an estimator without an advantage hook')
      ok(!hooks.load === !hooks.save, 'it has one of save and load, and not the other')
      ok(!hooks.share === !hooks.merge, 'it has one of share and merge, and not the other')
      if (hooks.share)
        ok(
          !manifest.needs?.includes('privileged'),
          'it sees reference solutions, so that it may not share its state',
        )
    },

    async 'reads only columns that there are'() {
      const correction = correctionOf(drive().hooks)
      if (!correction) return
      const missing = missingColumns([{ name: plugin.name, correction }])
      // Columns of another plugin exist only if that plugin is configured.
      const isOfOther = (column: string): boolean =>
        column.includes('.') && !column.startsWith(`${plugin.name}.`)
      none(missing.flatMap(({ column, message }) => (isOfOther(column) ? [] : [message])))
    },

    async 'decides the same again from the same seed'() {
      deepStrictEqual((await played(ROUNDS)).transcript, (await played(ROUNDS)).transcript)
    },

    async 'trains on what was sampled, as it was sampled, and gives what fits together'() {
      none((await played(ROUNDS)).problems)
    },

    async 'replays nothing whose log-probs nobody knows'() {
      none((await played(ROUNDS, { known: false })).problems)
    },

    async 'asks for nothing that it has no budget for'() {
      const { tokens = 0 } = manifest.budget?.(settingsOf(plugin, options.settings)) ?? {}
      if (tokens > 0) return
      const { transcript } = await played(ROUNDS)
      const asked = transcript.filter((entry) => (entry as { requests?: unknown[] }).requests?.length)
      deepStrictEqual(asked, [], 'it has no budget, so that no node will ever do what it asks for')
    },

    async 'goes on without a token to spend'() {
      await played(ROUNDS, { tokens: 0 }).catch((error: unknown) => {
        // The node expects this error and leaves the plugin out of the round.
        if (!(error instanceof BudgetError)) throw error
      })
    },

    async 'takes empty rounds and batches'() {
      const { hooks, context } = drive()
      const view = { lineage: 'a', tokenizer: 'b', version: 0, self: 'self' }
      await hooks.open?.(context())
      await hooks.receive?.([], context())
      await hooks.observe?.([], context())
      for (const at of ['round', 'batch'] as const) await hooks.group?.([], { ...view, at }, context())
      deepStrictEqual((await hooks.weigh?.([], context()))?.length ?? 0, 0)
      deepStrictEqual((await hooks.advantage?.([], context())) ?? [], [])
      deepStrictEqual((await hooks.modify?.([], [], context())) ?? [], [])
      await hooks.columns?.([], [], context())
      await hooks.commit?.({ step: 1, metrics: {}, groups: [], advantages: [] }, context())
    },

    async 'goes on from a saved state as if nothing had happened'() {
      const whole = await played(ROUNDS)
      const driven = await played(ROUNDS / 2)
      const state = await driven.hooks.save?.()
      const hooks = driven.renew()
      if (state) await hooks.load!(Uint8Array.from(state))
      await hooks.open?.(driven.context())
      for (let round = ROUNDS / 2; round < ROUNDS; round++) await driven.round()
      // Metrics are only for display and may restart.
      const decisions = ({ transcript }: Drive) =>
        transcript.filter((entry) => !('metric' in (entry as object)))
      deepStrictEqual(decisions(driven), decisions(whole))
    },

    async 'keeps its state within its bounds'() {
      if (!drive().hooks.save && !drive().hooks.share) return
      const { hooks } = await played(2 * ROUNDS)
      const { stateBytes = STATE_BYTES } = manifest.budget?.(settingsOf(plugin, options.settings)) ?? {}
      const state = await hooks.save?.()
      ok((state?.length ?? 0) <= stateBytes, `its state has ${state?.length} bytes`)
      const shared = await hooks.share?.()
      ok((shared?.length ?? 0) <= SHARED_BYTES, `what it shares has ${shared?.length} bytes`)
    },

    async 'merges in any order and twice with the same result'() {
      if (!drive().hooks.share) return
      const peers = await Promise.all([3, 5].map((seed) => played(ROUNDS, { seed })))
      const [a, b] = await Promise.all(peers.map(({ hooks }) => hooks.share!()))
      const after = async (order: readonly [string, Uint8Array][]): Promise<unknown> => {
        const { hooks } = await played(ROUNDS)
        for (const [from, state] of order) await hooks.merge!(Uint8Array.from(state), from)
        return [await hooks.save?.(), await hooks.share!()]
      }
      const [first, second] = [['a', a!] as const, ['b', b!] as const].map(
        (one) => [...one] as [string, Uint8Array],
      )
      const merged = await after([first!, second!])
      deepStrictEqual(await after([second!, first!]), merged, 'another order gives another state')
      deepStrictEqual(await after([first!, second!, first!]), merged, 'merging twice changes the state')
    },

    async 'merges nothing of what makes no sense'() {
      if (!drive().hooks.share) return
      const { hooks } = await played(ROUNDS)
      const before = await hooks.share!()
      const garbage = [
        new Uint8Array(),
        Uint8Array.of(0xff),
        new Uint8Array(1000).fill(0x5b),
        before.slice(0, before.length >> 1),
      ]
      for (const bytes of garbage) await Promise.resolve(hooks.merge!(bytes, 'liar')).catch(() => {})
      deepStrictEqual(await hooks.share!(), before)
    },

    async 'brings nothing of the answer into an evaluation, and learns nothing there unless it says so'() {
      if ((manifest.testTime ?? 'never') === 'never') return
      const driven = await played(ROUNDS)
      const before = await driven.hooks.save?.()
      for (let seed = HELD_OUT_SEED; seed < HELD_OUT_SEED + 8; seed++) {
        const prompt = { task: SUMS.name, taskVersion: SUMS.version, seed, difficulty: 2 }
        const { question } = SUMS.generate(prompt)
        const context = driven.context('eval')
        const rewrite = await driven.hooks.compose?.({ prompt, question, turn: 0 }, context)
        ok(!rewrite?.tainted, 'a tainted rewrite in an evaluation')
        ok(
          !context.leaks(prompt, `${rewrite?.before ?? ''} ${rewrite?.after ?? ''}`),
          'a rewrite gives the answer away',
        )
      }
      if (manifest.testTime === 'frozen') deepStrictEqual(await driven.hooks.save?.(), before)
    },
  }
  return Object.entries(checks).map(([name, run]) => ({ name: `${plugin.kind}/${plugin.name} ${name}`, run }))
}

function none(problems: readonly string[]): void {
  ok(problems.length === 0, [...new Set(problems)].join('; '))
}
