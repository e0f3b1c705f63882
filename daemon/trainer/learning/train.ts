// One update of a learner: plugins judge the batch, the engine steps, plugins and roles learn, guards look at the result.

import { NO_PHASES } from '../../../protocol/api/index.ts'
import type { Random, RoleGroup } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import type { Trainer } from '../../engine/engine.ts'
import type { PluginBatch, PluginHost } from '../../host/host.ts'
import { joinEpisodes, splitEpisodes } from '../episodes.ts'
import { isUseful, untrainable } from '../trainable.ts'
import { type UpdateReport, update } from '../update.ts'
import { summarize } from '../watch.ts'
import type { Batch, UpdateOutcome } from './contract.ts'
import { actOn, type Inside, stepsWithoutOwn, trainableOf } from './inside.ts'

const NOTHING_LEARNT: UpdateReport = {
  steps: 1,
  skipped: [],
  gradientNorm: 0,
  ...summarize([]),
  parts: [],
  trainedOn: { own: 0, foreign: {} },
}

type UpdateOptions = Parameters<typeof update>[2]
type UpdateParts = Parameters<typeof update>[3]

export async function train(chosen: Batch, inside: Inside): Promise<UpdateOutcome | undefined> {
  const { options, parts, record, state } = inside
  const { policy, plugins } = parts
  const { learnForeign } = chosen
  const { lineage, tokenizer, version } = policy.reference()
  const batch = plugins.batch({ step: version })
  const groups = (
    await batch.group(trainableOf(chosen.groups, inside), { lineage, tokenizer, version, self: options.self })
  ).filter((group) => isUseful(group, plugins) && untrainable(group, policy.spec) === undefined)
  const own = groups.filter(({ author }) => author === options.self).length
  if (groups.length === 0 || (own === 0 && !(learnForeign && stepsWithoutOwn(inside)))) {
    await withoutUpdate(batch, inside)
    return undefined
  }
  const advantages = splitEpisodes(await batch.advantage(joinEpisodes(groups)), groups)
  const teaching = await batch.teach(groups)
  const columns = await batch.columns(advantages, groups)
  const counting = countingSteps(policy.trainer)
  // An estimator may want no policy update. The step still counts, because plugins learn in it.
  const report = plugins.updates
    ? await recorded(
        groups,
        updateOptions(chosen, { columns, teaching }, inside),
        inside,
        (options, random) =>
          update(groups, advantages, options, { ...updateParts(inside), engine: counting.engine, random }),
      ).catch(async (error: unknown) => {
        // The steps before the failure have changed the weights.
        await policy.advance(counting.steps()).catch(() => {})
        throw error
      })
    : { ...NOTHING_LEARNT }
  if (report.steps > 0) state.withoutOwn = own > 0 ? 0 : state.withoutOwn + 1
  await (parts.phases ?? NO_PHASES).run('hand', {}, () => policy.advance(report.steps))
  const step = policy.reference().version
  const texts = await batch.commit({ step, metrics: report.metrics, groups, advantages })
  const roleMetrics = await learnRoles(texts, inside)
  const unreported = state.leftOver
  state.leftOver = {}
  record.observe(report.parts, learnForeign)
  const rolledBack = await guard({ groups, learnForeign, report, step }, inside)
  return {
    ...report,
    step: policy.reference().version,
    own,
    foreign: learnForeign ? groups.length - own : 0,
    probed: learnForeign ? 0 : groups.length - own,
    dropped: chosen.groups.length - groups.length,
    rollouts: groups.reduce((total, { rollouts }) => total + rollouts.length, 0),
    ages: groups.map((group) => Math.max(0, version - group.bornVersion)),
    pluginMetrics: { ...plugins.takeMetrics(), ...unreported, ...roleMetrics },
    authors: rolledBack ? {} : peersBehind(report.trainedOn, groups, options.self),
    ...(rolledBack ? { rolledBack } : {}),
  }
}

/**
 * Commits without a policy update, for plugins that also learn from groups without a signal, such as hint writers.
 */
export async function withoutUpdate(batch: PluginBatch, inside: Inside): Promise<void> {
  const { parts, state } = inside
  const step = parts.policy.reference().version
  const texts = await batch.commit({ step, metrics: {}, groups: [], advantages: [] })
  state.leftOver = { ...state.leftOver, ...(await learnRoles(texts, inside)) }
}

function updateOptions(
  { learnForeign, compare }: Batch,
  given: Pick<UpdateOptions, 'columns' | 'teaching'>,
  { options, parts, record, guards, weights }: Inside,
): UpdateOptions {
  const { lineage, version } = parts.policy.reference()
  const { optimizer, minibatches, aggregation, warmUpSteps } = options.settings()
  return {
    ...{ temperature: options.temperature, self: options.self, minibatches },
    ...(aggregation && { aggregation }),
    optimizer: {
      ...optimizer,
      learningRate: optimizer.learningRate * Math.min(1, (version + 1) / Math.max(1, warmUpSteps)),
      maxGradientNorm: Math.min(optimizer.maxGradientNorm, guards.normLimit()),
    },
    ...{ lineage, version, ...given, learnForeign, compare },
    isBelieved: (author) => parts.isTrusted?.(author) || record.authors.isBelieved(author),
    earnedWeight: weights.earnedWeight,
    meanOwn: record.meanOwn,
  }
}

/** Runs the update, and records it if the node makes receipts (../audit). */
function recorded(
  groups: readonly Group[],
  options: UpdateOptions,
  { parts: { recorder, policy, plugins, random: streamOf } }: Inside,
  run: (options: UpdateOptions, random: Random) => Promise<UpdateReport>,
): Promise<UpdateReport> {
  const random = streamOf(`minibatches/${policy.reference().version}`)
  if (!recorder) return run(options, random)
  const { changes } = policy
  return recorder.record({ groups, options, random, changes, closed: closedBy(options, plugins) }, run)
}

/** Why nobody else could compute a step by these plugins. */
function closedBy({ teaching }: UpdateOptions, { isReplayable }: PluginHost): string | undefined {
  if (teaching) return 'a teacher took part'
  return isReplayable ? undefined : 'a plugin with a memory, or one that asks models, took part'
}

function updateParts({ parts: { policy, plugins, phases } }: Inside): Omit<UpdateParts, 'engine' | 'random'> {
  return {
    objective: plugins.objective,
    reference: (request) => policy.under(policy.initial, ({ score }) => score(request)),
    phases,
  }
}

/** The same trainer, and how many of its steps have changed the weights. */
function countingSteps(trainer: Trainer): { engine: Trainer; steps(): number } {
  let steps = 0
  const count = <Report extends { applied: boolean }>(report: Report): Report => {
    if (report.applied) steps += 1
    return report
  }
  return {
    engine: {
      ...trainer,
      train: (request) => trainer.train(request).then(count),
      step: (request) => trainer.step(request).then(count),
    },
    steps: () => steps,
  }
}

async function learnRoles(texts: readonly RoleGroup[], { parts }: Inside): Promise<Record<string, number>> {
  const metrics: Record<string, number> = {}
  for (const [name, role] of parts.roles ?? []) {
    const groups = texts.filter((group) => group.role === name)
    // A role that fails loses its own step; the policy keeps its update.
    const report = await role.learn(groups).catch((error: unknown) => {
      const message = `the ${name} did not learn: ${error instanceof Error ? error.message : error}`
      parts.onFinding({ type: 'guard', guard: 'role', message })
      return undefined
    })
    for (const [figure, value] of Object.entries(report ?? {})) metrics[`${name}.${figure}`] = value
  }
  return metrics
}

/** Looks at a step. Returns whether it ended in a roll-back. */
function guard(
  {
    groups,
    learnForeign,
    report,
    step,
  }: { groups: readonly Group[]; learnForeign: boolean; report: UpdateReport; step: number },
  inside: Inside,
): Promise<boolean> {
  const { options, parts, guards, rollBacks } = inside
  rollBacks.batch(
    groups.flatMap((group) =>
      authorsOf(group).filter(
        (author) => author !== options.self && (learnForeign || author !== group.author),
      ),
    ),
  )
  const seen = parts.plugins.updates ? guards.step({ ...report, entropy: report.watched.entropy }) : []
  return actOn(seen, step, inside)
}

/** The group's author, and those of borrowed rollouts in it. */
function authorsOf({ author, rollouts }: Group): string[] {
  return [...new Set([author, ...rollouts.map((rollout) => rollout.author ?? author)])]
}

/** Groups of each peer that the weights were trained on. Own ones count for whoever's rollouts are borrowed in them. */
function peersBehind(
  { own, foreign }: UpdateReport['trainedOn'],
  groups: readonly Group[],
  self: string,
): Record<string, number> {
  const counts = { ...foreign }
  const lent = own > 0 ? groups.filter(({ author }) => author === self).flatMap(authorsOf) : []
  for (const peer of lent) if (peer !== self) counts[peer] = (counts[peer] ?? 0) + 1
  return counts
}
