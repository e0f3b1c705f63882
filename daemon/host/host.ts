// The plugin host: runs hooks for the node, which never learns a method's name. A hook that throws or overruns its
// time is skipped for the step, counted, and after three strikes switched off. An estimator cannot be skipped: without
// it there is no gradient, so its failure fails the step.

import { WaggleError } from '../../protocol/errors.ts'
import type {
  Advantages,
  Ask,
  BatchView,
  CommitReport,
  Context,
  Hooks,
  PluginKind,
  SelectView,
} from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { type LoadedPlugin, loadPlugins, type PluginChoice, type PluginSource } from './load.ts'
import { assembleObjective, type Objective } from './objective.ts'
import { randomStream } from './random.ts'

export interface HostOptions {
  estimator: PluginChoice
  corrections: readonly PluginChoice[]
  selector: PluginChoice
  /** Seed of the plugins' random streams. */
  seed: number
  /** Wall-clock milliseconds that one hook may take. */
  hookTimeoutMs?: number
}

export interface HostCollaborators extends PluginSource {
  /** Monotonic milliseconds. */
  now(): number
  /** Resolves after so many milliseconds, or rejects when aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, data?: Record<string, unknown>): void
  onTrouble(trouble: PluginTrouble): void
}

export interface PluginTrouble {
  kind: PluginKind
  name: string
  hook: string
  message: string
  switchedOff: boolean
}

export interface PluginStatus {
  kind: PluginKind
  name: string
  summary: string
  state: 'ok' | 'slow' | 'off'
  msPerStep: number
  strikes: number
  message?: string
}

export interface Host {
  readonly objective: Objective
  select(view: SelectView, want: number, step: number): Promise<Ask[]>
  group(groups: Group[], view: BatchView, step: number): Promise<Group[]>
  advantage(groups: Group[], step: number): Promise<Advantages>
  commit(report: CommitReport): Promise<void>
  /** Numbers that plugins recorded since the last call. */
  takeMetrics(): Record<string, number>
  status(): PluginStatus[]
}

const STRIKES = 3
/** A pure hook over a batch takes a few milliseconds; ten seconds is a hang. */
const HOOK_TIMEOUT_MS = 10_000

interface Active extends LoadedPlugin {
  strikes: number
  off: boolean
  totalMs: number
  steps: number
  message: string | undefined
}

export async function createHost(options: HostOptions, by: HostCollaborators): Promise<Host> {
  const loaded = await loadPlugins(
    [
      { kind: 'estimator', choice: options.estimator },
      ...options.corrections.map((choice) => ({ kind: 'correction' as const, choice })),
      { kind: 'selector', choice: options.selector },
    ],
    by,
  )
  const active: Active[] = loaded.map((plugin) => ({
    ...plugin,
    strikes: 0,
    off: false,
    totalMs: 0,
    steps: 0,
    message: undefined,
  }))
  const estimator = claim(active, 'estimator', 'advantage')
  const selector = claim(active, 'selector', 'select')
  const objective = assembleObjective(
    active.flatMap(({ plugin, hooks }) =>
      hooks.correct ? [{ name: plugin.name, correction: hooks.correct() }] : [],
    ),
  )
  let metrics: Record<string, number> = {}

  const contextOf = ({ plugin }: Active, step: number): Context =>
    ({
      step,
      phase: 'train',
      random: (stream) => randomStream(options.seed, `plugin/${plugin.kind}/${plugin.name}/${stream}`),
      log: (message, data) => by.log('info', `${plugin.name}: ${message}`, data),
      metric(name, value) {
        if (Number.isFinite(value)) metrics[`${plugin.name}.${name}`] = value
      },
    }) as Partial<Context> as Context

  /** Runs a hook within its time; a failure is a strike and is thrown on. */
  const timed = async <T>(plugin: Active, hook: keyof Hooks, run: () => T | Promise<T>): Promise<T> => {
    const limit = options.hookTimeoutMs ?? HOOK_TIMEOUT_MS
    const started = by.now()
    const timer = new AbortController()
    try {
      const result = run()
      const value =
        result instanceof Promise
          ? await Promise.race([
              result,
              by.sleep(limit, timer.signal).then(() => {
                throw new Error(`took longer than ${limit} ms`)
              }),
            ])
          : result
      const took = by.now() - started
      if (took > limit) throw new Error(`took ${Math.round(took)} ms, its limit is ${limit} ms`)
      return value
    } catch (error) {
      plugin.strikes += 1
      plugin.message = error instanceof Error ? error.message : String(error)
      plugin.off = plugin.strikes >= STRIKES && plugin !== estimator && plugin !== selector
      by.onTrouble({
        kind: plugin.plugin.kind,
        name: plugin.plugin.name,
        hook,
        message: plugin.message,
        switchedOff: plugin.off,
      })
      throw error
    } finally {
      timer.abort()
      plugin.totalMs += by.now() - started
      plugin.steps += 1
    }
  }

  return {
    objective,

    select(view, want, step) {
      return timed(selector, 'select', () => selector.hooks.select!(view, want, contextOf(selector, step)))
    },

    async group(groups, view, step) {
      let current = groups
      for (const plugin of active) {
        const hook = plugin.hooks.group
        if (!hook || plugin.off) continue
        try {
          current = await timed(plugin, 'group', () =>
            hook.call(plugin.hooks, [...current], view, contextOf(plugin, step)),
          )
        } catch {
          // Struck and reported; the step goes on with the groups as they were.
        }
      }
      return current
    },

    async advantage(groups, step) {
      const advantages = await timed(estimator, 'advantage', () =>
        estimator.hooks.advantage!(groups, contextOf(estimator, step)),
      )
      checkAdvantages(estimator.plugin.name, groups, advantages)
      return advantages
    },

    async commit(report) {
      for (const plugin of active) {
        const hook = plugin.hooks.commit
        if (!hook || plugin.off) continue
        try {
          await timed(plugin, 'commit', () => hook.call(plugin.hooks, report, contextOf(plugin, report.step)))
        } catch {
          // Struck and reported; the update is done already.
        }
      }
    },

    takeMetrics() {
      const taken = metrics
      metrics = {}
      return taken
    },

    status: () =>
      active.map(({ plugin, strikes, off, totalMs, steps, message }) => ({
        kind: plugin.kind,
        name: plugin.name,
        summary: plugin.summary,
        state: off ? 'off' : strikes > 0 ? 'slow' : 'ok',
        msPerStep: steps === 0 ? 0 : totalMs / steps,
        strikes,
        ...(message === undefined ? {} : { message }),
      })),
  }
}

function claim(active: readonly Active[], kind: PluginKind, hook: 'advantage' | 'select'): Active {
  const plugin = active.find((candidate) => candidate.plugin.kind === kind)
  if (!plugin?.hooks[hook]) {
    throw new WaggleError('E_PLUGIN', `the ${kind} "${plugin?.plugin.name}" has no ${hook} hook`)
  }
  return plugin
}

function checkAdvantages(name: string, groups: readonly Group[], advantages: Advantages): void {
  const wrong = (what: string): never => {
    throw new WaggleError('E_PLUGIN', `the estimator "${name}" ${what}`)
  }
  if (advantages.length !== groups.length)
    wrong(`gave ${advantages.length} groups of advantages for ${groups.length}`)
  groups.forEach(({ rollouts }, g) => {
    const rows = advantages[g]!
    if (rows.length !== rollouts.length)
      wrong(`gave ${rows.length} advantages for ${rollouts.length} rollouts`)
    rollouts.forEach(({ tokens }, r) => {
      const advantage = rows[r]!
      if (typeof advantage === 'number') {
        if (!Number.isFinite(advantage)) wrong('gave an advantage that is not finite')
      } else if (advantage.length !== tokens.length || !advantage.every(Number.isFinite)) {
        wrong('gave per-token advantages of another length, or not finite ones')
      }
    })
  })
}
