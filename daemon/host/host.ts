// The plugin host: runs hooks for the node, which never learns the name of a method. contract.ts describes the
// interface, call.ts the cost of a failure. Without an estimator there is no gradient, so its failure fails the batch.
// If the picker fails, the default picker takes its place.

import { z } from 'zod'
import { taughtText } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { ReceivedGroup, TaughtInfo } from '../../protocol/plugin/index.ts'
import type { Active } from './active.ts'
import { createCall, troubleOf } from './call.ts'
import type {
  PluginFacts,
  PluginHost,
  PluginHostOptions,
  PluginHostParts,
  PluginStatus,
  World,
} from './contract.ts'
import { openBatch } from './hooks/batch.ts'
import { openEvaluation } from './hooks/evaluation.ts'
import { openRound } from './hooks/round.ts'
import { slotsOf } from './hooks/together.ts'
import { resolvePlugins } from './resolve.ts'
import { createStates } from './states.ts'
import { createTaint } from './taint.ts'
import { createWatch } from './watch.ts'

export type {
  Composed,
  PluginBatch,
  PluginEvaluation,
  PluginFacts,
  PluginHost,
  PluginHostOptions,
  PluginHostParts,
  PluginRound,
  PluginStatus,
  PluginTrouble,
  SavedState,
  SharedStates,
  Work,
  World,
} from './contract.ts'

/** Maximum number of foreign groups kept for the next round; the newest are kept. */
const MAX_ARRIVALS = 256

export async function createPluginHost(
  options: PluginHostOptions,
  parts: PluginHostParts,
): Promise<PluginHost> {
  const { active, standIn, objective, picker, estimator, notices } = await resolved(options, parts)
  for (const notice of notices) parts.log('warn', notice)
  let metrics: Record<string, number> = {}
  let world: World | undefined
  let step = 0
  const watch = createWatch()
  const refuse = refuserOf(parts)
  const context = () => ({
    watch,
    refuse,
    world,
    seed: options.seed,
    now: parts.now,
    log: parts.log,
    record(name: string, value: number) {
      metrics[name] = value
    },
  })
  const call = createCall(
    { isLasting: (one) => one === estimator || (one === picker && (!standIn || one === standIn)) },
    { ...parts, context, watch },
  )
  const states = createStates({ call, onTrouble: parts.onTrouble })
  let arrivals: ReceivedGroup[] = []
  const hookParts = {
    active,
    picker,
    standIn: standIn ?? picker,
    estimator,
    objective,
    call,
    taint: createTaint(),
    world: () => world,
    onTrouble: parts.onTrouble,
    takeArrivals() {
      const taken = arrivals
      arrivals = []
      return taken
    },
  }

  return {
    objective,
    facts: active.map(factsOf),
    learnsFromAny: estimator.plugin.manifest?.signal === 'any',
    writes: active.some(({ budget }) => budget.tokens > 0),
    teachers: [...new Set(active.flatMap(({ teachers }) => teachers))],
    updates: estimator.plugin.manifest?.update !== false,
    isReplayable: active.every(isReplayable),
    async open(given, at, saved = []) {
      world = given
      step = at
      await states.open(active, at, saved)
    },
    async restore(at, saved) {
      step = at
      for (const one of active) if (one.hooks.load) one.hooks = one.plugin.create(one.settings)
      await states.open(
        active.filter(({ hooks }) => hooks.load),
        at,
        saved,
      )
    },
    save: () => states.save(active, step),
    arrived(group) {
      if (!active.some(({ hooks, tally }) => hooks.receive && !tally.off)) return
      arrivals.push(group)
      if (arrivals.length > MAX_ARRIVALS) arrivals.shift()
    },
    round: ({ step: at }) => openRound(at, hookParts),
    batch({ step: at }) {
      step = at
      return openBatch(at, hookParts)
    },
    evaluation: ({ step: at }) => openEvaluation(at, hookParts),
    shared: states.shared(active, () => step),
    takeMetrics() {
      const taken = metrics
      metrics = {}
      return taken
    },
    status: () => active.map(statusOf),
    close: watch.close,
  }
}

/** Throws E_PLUGIN if the node could not run with these plugins. */
async function resolved(options: PluginHostOptions, parts: PluginHostParts) {
  const { active, standIn, objective, problems, notices } = await resolvePlugins(options, parts)
  const picker = active.find(({ hooks }) => hooks.select)
  const estimator = active.find(({ hooks }) => hooks.advantage)
  if (problems.length === 0 && picker && estimator && objective)
    return { active, standIn, objective, picker, estimator, notices }
  throw new WaggleError(
    'E_PLUGIN',
    (problems.length > 0 ? problems : ['no plugin selects prompts']).join('\n'),
    {
      hint: 'Fix the plugin tables in the config file; `waggle plugins check` checks them without starting the node.',
    },
  )
}

/** Reports refusals. Does not repeat a message that differs only in its numbers. */
function refuserOf({ onTrouble }: Pick<PluginHostParts, 'onTrouble'>) {
  const kind = (text = ''): string => text.replaceAll(/\d+/g, '')
  return (one: Active, hook: string, message: string): void => {
    if (kind(one.tally.refusal) !== kind(message))
      onTrouble({ ...troubleOf(one, hook, message), refused: true })
    one.tally.refusal = message
  }
}

/** A plugin of the user's own may be another one elsewhere, under the same name. */
function isReplayable({ hooks, needs, isOutside, plugin: { kind } }: Active): boolean {
  if (isOutside && (hooks.advantage || hooks.correct)) return false
  if (kind === 'estimator') return needs.size === 0 && !hooks.save
  return !hooks.modify && !hooks.columns && !hooks.teach
}

export function factsOf(one: Pick<Active, 'plugin' | 'hooks'>): PluginFacts {
  const { kind, name, summary, manifest } = one.plugin
  return {
    kind,
    name,
    summary,
    needs: manifest?.needs ?? [],
    slots: slotsOf(one),
    roles: manifest?.roles ?? [],
  }
}

function statusOf({ plugin, tally, hooks }: Active): PluginStatus {
  const { strikes, mergeStrikes, slow, off, totalMs, steps, message = tally.refusal } = tally
  return {
    kind: plugin.kind,
    name: plugin.name,
    summary: plugin.summary,
    state: off ? 'off' : strikes + mergeStrikes === 0 ? 'ok' : slow ? 'slow' : 'failing',
    msPerStep: steps === 0 ? 0 : totalMs / steps,
    strikes,
    ...(message === undefined ? {} : { message }),
    ...(hooks.taught && toldOf(taughtBy(hooks.taught))),
  }
}

const MAX_TAUGHT = 64
const text = z.string().transform((given) => given.slice(0, 120))
const share = z.number().min(0).max(1)
/** A plugin may come from anywhere, so what it says is bounded. */
const taughtSchema = z
  .array(
    z.object({
      ...{ task: text, teacher: text, weight: share, tokens: z.number().nonnegative() },
      scores: z.object({ theirs: share, own: share }).exactOptional(),
    }),
  )
  .transform((all) => all.slice(0, MAX_TAUGHT))

function toldOf(taught: TaughtInfo[]): Pick<PluginStatus, 'doing' | 'taught'> {
  return { taught, doing: taught.filter(({ weight }) => weight > 0).map(taughtText) }
}

function taughtBy(taught: NonNullable<Active['hooks']['taught']>): TaughtInfo[] {
  try {
    return taughtSchema.safeParse(taught()).data ?? []
  } catch {
    return []
  }
}
