// Runs one hook of one plugin: within its time, with a context of its own, and its result checked. Whatever goes wrong
// is a strike: the plugin is out of the round or batch, and after three strikes off.
//
// A hook that waits without end is left behind; one that computes without end is ended where it can be (watch.ts).

import type { Context, Hooks } from '../../protocol/plugin/index.ts'
import type { Active, Window } from './active.ts'
import { type ContextBy, createContext } from './context.ts'
import type { HostCollaborators, PluginTrouble } from './contract.ts'
import type { Watch } from './watch.ts'

export const STRIKES = 3

/** Thrown by `call` once the failure has been told: whoever catches it goes on without the plugin. */
export class PluginFailure extends Error {
  override readonly name = 'PluginFailure'
}

export interface CallOptions {
  /** A failure of these is told and struck, and they go on being asked: nothing else could take their place. */
  isLasting(active: Active): boolean
}

export type Call = <T, U = T>(
  active: Active,
  hook: keyof Hooks,
  window: Window,
  run: (hooks: Hooks, context: Context) => T | Promise<T>,
  /** Throws for a result that cannot be used. */
  check?: (value: T) => U,
) => Promise<U>

export function createCall(
  { isLasting }: CallOptions,
  by: Pick<HostCollaborators, 'now' | 'sleep' | 'onTrouble'> & { context(): ContextBy; watch: Watch },
): Call {
  return async (active, hook, window, run, check) => {
    const { context, waited, close } = createContext(active, window, by.context())
    const limit = active.budget.hookMs
    let started = by.now()
    const took = (): number => by.now() - started - waited()
    // Made only for a hook that waits: most calls are over at once, and there are many.
    let timer: AbortController | undefined
    const overrun = async (): Promise<never> => {
      timer = new AbortController()
      while (took() < limit) await by.sleep(limit - took(), timer.signal)
      throw new Error(`took longer than ${limit} ms`)
    }
    try {
      const result = active.isOutside
        ? by.watch.guard(limit, () => {
            // Its turn in the event loop was not its own time.
            started = by.now()
            return run(active.hooks, context)
          })
        : run(active.hooks, context)
      const value = result instanceof Promise ? await Promise.race([result, overrun()]) : result
      if (took() > limit) throw new Error(`took ${Math.round(took())} ms, its limit is ${limit} ms`)
      return (check ? check(value) : value) as Exclude<ReturnType<NonNullable<typeof check>>, never>
    } catch (error) {
      const message = messageOf(error)
      window.out.add(active)
      const { tally } = active
      tally.strikes += 1
      tally.message = message
      tally.off = tally.strikes >= STRIKES && !isLasting(active)
      by.onTrouble(troubleOf(active, hook, message))
      throw new PluginFailure(`the ${active.plugin.kind} "${active.plugin.name}" ${message}`, {
        cause: error,
      })
    } finally {
      close()
      timer?.abort()
      active.tally.totalMs += took()
      if (!window.ran.has(active)) {
        window.ran.add(active)
        active.tally.steps += 1
      }
    }
  }
}

export function troubleOf(active: Active, hook: string, message: string): PluginTrouble {
  const { kind, name } = active.plugin
  return { kind, name, hook, message, switchedOff: active.tally.off }
}

/** Without an error's name where it says nothing. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return /^(Error|WaggleError)$/.test(error.name) ? error.message : `${error.name}: ${error.message}`
}
