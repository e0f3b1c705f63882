// Plugins' state: saved with a checkpoint, loaded from one, and shared with the same plugins of peers.
//
// What does not load is told and dropped: the plugin starts with an empty state. A peer whose state makes a plugin's `merge`
// throw is not listened to again; that counts against the plugin's merging alone, and once a peer, or one peer could switch
// it off. Of a plugin that cannot say its state,
// or was switched off, the last one that it said goes into the checkpoint: it begins with that when the node starts again.

import type { Active, Window } from './active.ts'
import { emptyTally, openWindow } from './active.ts'
import { type Call, STRIKES, troubleOf } from './call.ts'
import { checkState } from './checks.ts'
import type { PluginTrouble, SavedState, SharedStates } from './contract.ts'

/** As the swarm allows. */
const SHARED_BYTES = 64 * 1024

export interface States {
  /** Loads and opens; at a restore with fresh hooks. */
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
      const message = `its saved state is of version ${version}, it reads ${wanted}: it starts without one`
      onTrouble({ ...troubleOf(one, 'load', message), refused: true })
      return
    }
    await call(one, 'load', window, (hooks) => hooks.load!(bytes)).then(
      () => {
        last.set(one, state)
        // It may remember solutions that it was told before the node started, of prompts that nobody remembers.
        if (one.needs.has('privileged') && one.tally.told.size === 0) one.tally.toldMany = true
      },
      () => {
        // Told and struck. What is half loaded is worse than nothing.
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
        const state = states.find(({ plugin }) => plugin === one.id)
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
      /** Peers whose state could not be taken in; as many as strikes at most. */
      const unheard = new Map<Active, Set<string>>()
      const sharing = (name: string): Active | undefined =>
        active.find((one) => one.id === name && isSharing(one))
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
          // Struck on a tally of its own.
          const merging: Active = { ...one, tally: emptyTally() }
          await call(merging, 'merge', openWindow('node', step()), (hooks) =>
            hooks.merge!(bytes, from),
          ).catch(() => {
            unheard.set(one, liars.add(from))
            one.tally.mergeStrikes += 1
            one.tally.message = merging.tally.message
            if (one.tally.mergeStrikes === STRIKES)
              onTrouble(troubleOf(one, 'merge', 'it takes in nothing of peers any more'))
          })
        },
      }
    },
  }
}

const versionOf = ({ plugin }: Active): number => plugin.manifest?.stateVersion ?? 1

/** What has seen reference solutions tells peers nothing: they may be evaluated on the same prompts. */
const isSharing = ({ hooks, tally, needs }: Active): boolean =>
  hooks.share !== undefined &&
  hooks.merge !== undefined &&
  !needs.has('privileged') &&
  !tally.off &&
  tally.mergeStrikes < STRIKES
