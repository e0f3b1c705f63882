// Plugin states: saved with a checkpoint, loaded from one, and exchanged with the same plugins of peers.
//
// A state that does not load is reported and dropped, and the plugin starts without one. A peer whose state makes
// `merge` throw is ignored from then on. That counts only as a merge failure, once per peer, so that a single peer
// cannot switch a plugin off. If a plugin cannot save or is switched off, the checkpoint keeps its last saved state,
// which the plugin starts with after a restart.

import type { Active, Window } from './active.ts'
import { emptyTally, openWindow } from './active.ts'
import { type Call, STRIKES, troubleOf } from './call.ts'
import { checkState } from './checks.ts'
import type { PluginTrouble, SavedState, SharedStates } from './contract.ts'

/** The swarm's limit for a state, in bytes. */
const SHARED_BYTES = 64 * 1024

export interface States {
  /** Loads the states and opens the plugins. */
  open(active: readonly Active[], step: number, states: readonly SavedState[]): Promise<void>
  save(active: readonly Active[], step: number): Promise<SavedState[]>
  shared(active: readonly Active[], step: () => number): SharedStates
}

export function createStates({
  call,
  onTrouble,
}: {
  call: Call
  onTrouble(trouble: PluginTrouble): void
}): States {
  const last = new Map<Active, SavedState>()
  const load = async (one: Active, window: Window, state: SavedState): Promise<void> => {
    const { version, bytes } = state
    if (!one.hooks.load) return
    const wanted = versionOf(one)
    if (version !== wanted) {
      const message = `its saved state has version ${version}, but it reads version ${wanted}: it starts without one`
      onTrouble({ ...troubleOf(one, 'load', message), refused: true })
      return
    }
    await call(one, 'load', window, (hooks) => hooks.load!(bytes)).then(
      () => {
        last.set(one, state)
        // The state may contain solutions from an earlier run, and the host no longer knows for which prompts.
        if (one.needs.has('privileged') && one.tally.told.size === 0) one.tally.toldMany = true
      },
      () => {
        // `call` has reported the failure. Starts the plugin afresh, because the state may be half loaded.
        one.hooks = one.plugin.create(one.settings)
        window.out.delete(one)
      },
    )
  }

  return {
    async open(active, step, states) {
      const window = openWindow('node', step)
      for (const one of active) {
        last.delete(one)
        const state = states.find(({ plugin }) => isIdOf(plugin, one))
        if (state) await load(one, window, state)
        if (one.hooks.open && !one.tally.off)
          await call(one, 'open', window, (hooks, context) => hooks.open!(context)).catch(() => {})
      }
    },

    async save(active, step) {
      const window = openWindow('node', step)
      const saved: SavedState[] = []
      for (const one of active) {
        if (!one.hooks.save) continue
        const bytes = one.tally.off
          ? undefined
          : await call(
              one,
              'save',
              window,
              (hooks) => hooks.save!(),
              (given) => checkState(given, one.budget.stateBytes),
            ).catch(() => undefined)
        if (bytes) last.set(one, { plugin: one.id, version: versionOf(one), bytes })
        const state = last.get(one)
        if (state) saved.push(state)
      }
      return saved
    },

    shared(active, step) {
      /** Peers whose state failed to merge; at most STRIKES. */
      const unheard = new Map<Active, Set<string>>()
      const sharing = (name: string): Active | undefined =>
        active.find((one) => isIdOf(name, one) && isSharing(one))
      return {
        wanted: () => active.filter(isSharing).map((one) => ({ name: one.id, version: versionOf(one) })),
        async own(name) {
          const one = sharing(name)
          if (!one) return undefined
          return call(
            one,
            'share',
            openWindow('node', step()),
            (hooks) => hooks.share!(),
            (given) => checkState(given, SHARED_BYTES),
          ).catch(() => undefined)
        },
        async received(name, from, bytes) {
          const one = sharing(name)
          const liars = one && (unheard.get(one) ?? new Set())
          if (!one || !liars || liars.has(from) || bytes.length > SHARED_BYTES) return
          // A separate tally, so that merge failures do not count as strikes.
          const merging: Active = { ...one, tally: emptyTally() }
          await call(merging, 'merge', openWindow('node', step()), (hooks) =>
            hooks.merge!(bytes, from),
          ).catch(() => {
            unheard.set(one, liars.add(from))
            one.tally.mergeStrikes += 1
            one.tally.message = merging.tally.message
            if (one.tally.mergeStrikes === STRIKES)
              onTrouble(troubleOf(one, 'merge', 'it no longer merges states of peers'))
          })
        },
      }
    },
  }
}

/** Also by the name of the last version: checkpoints and peers may have that. */
const isIdOf = (id: string, { id: now, plugin }: Active): boolean =>
  id === now ||
  (plugin.manifest?.formerly !== undefined && id === `${plugin.kind}/${plugin.manifest.formerly}`)

const versionOf = ({ plugin }: Active): number => plugin.manifest?.stateVersion ?? 1

/** A plugin that has seen reference solutions does not share: peers may be evaluated on the same prompts. */
const isSharing = ({ hooks, tally, needs }: Active): boolean =>
  hooks.share !== undefined &&
  hooks.merge !== undefined &&
  !needs.has('privileged') &&
  !tally.off &&
  tally.mergeStrikes < STRIKES
