// Runs one hook of one plugin, with a time limit, a context of its own, and a check of the result. A failure
// is a strike: the plugin is out of the round or batch, and switched off after three strikes.
//
// A hook that never settles is abandoned; one that never yields is terminated where possible (watch.ts).

import type { Context, Hooks } from '../../protocol/plugin/index.ts'
import type { Active, Window } from './active.ts'
import { type ContextBy, createContext } from './context.ts'
import type { PluginHostParts, PluginTrouble } from './contract.ts'
import type { Watch } from './watch.ts'

export const STRIKES = 3

/** Thrown by `call` after reporting the failure. The caller continues without the plugin. */
export class PluginFailure extends Error {
  override readonly name = 'PluginFailure'
}

/** The hook exceeded its time limit. */
class Overrun extends Error {
  override readonly name = 'Error'
}

export interface CallOptions {
  /**
   * True for plugins that cannot be replaced. Their failures are reported and counted, but they are never switched off.
   */
  isLasting(active: Active): boolean
}

export type Call = <T, U = T>(
  active: Active,
  hook: keyof Hooks,
  window: Window,
  run: (hooks: Hooks, context: Context) => T | Promise<T>,
  /** Throws if the result is invalid. */
  check?: (value: T) => U,
) => Promise<U>

export function createCall(
  { isLasting }: CallOptions,
  parts: Pick<PluginHostParts, 'now' | 'sleep' | 'onTrouble'> & { context(): ContextBy; watch: Watch },
): Call {
  return async (active, hook, window, run, check) => {
    const { context, waited, close } = createContext(active, window, parts.context())
    const limit = active.budget.hookMs
    let started = parts.now()
    const took = (): number => parts.now() - started - waited()
    // Created only for hooks that wait, because most calls return at once and there are many.
    let timer: AbortController | undefined
    const overrun = async (): Promise<never> => {
      timer = new AbortController()
      while (took() < limit) await parts.sleep(limit - took(), timer.signal)
      throw new Overrun(`took longer than ${limit} ms`)
    }
    try {
      const result = active.isOutside
        ? parts.watch.guard(limit, () => {
            // Waiting for the event loop does not count against the hook.
            started = parts.now()
            return run(active.hooks, context)
          })
        : run(active.hooks, context)
      const value = result instanceof Promise ? await Promise.race([result, overrun()]) : result
      if (took() > limit) throw new Overrun(`took ${Math.round(took())} ms, its limit is ${limit} ms`)
      return (check ? check(value) : value) as Exclude<ReturnType<NonNullable<typeof check>>, never>
    } catch (error) {
      const message = messageOf(error)
      window.out.add(active)
      const { tally } = active
      tally.strikes += 1
      tally.slow = error instanceof Overrun
      tally.message = message
      tally.off = tally.strikes >= STRIKES && !isLasting(active)
      parts.onTrouble(troubleOf(active, hook, message))
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
  return { kind, name, hook, message, switchedOff: active.tally.off, slow: active.tally.slow }
}

/** The error's message, preceded by its name if that adds information. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return /^(Error|WaggleError)$/.test(error.name) ? error.message : `${error.name}: ${error.message}`
}
