// A policy that learns only from its own rollouts, without pool, peers, guards, roll-back, or a host that skips
// failing plugins, so that nothing hides what an estimator or a correction does. For the same reason it does not use
// the node's core. One call is one update. Rollouts are written by the policy as it was `lag` updates before, with a
// separate engine that has those weights. Hooks, objective and update are the daemon's. Deterministic for a seed.

import type { Weights } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { assembleObjective } from '../../../daemon/host/objective.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { openPolicy } from '../../../daemon/policy/live-policy.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { scorePrompts } from '../../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook, type TaskChoice } from '../../../daemon/rollout/tasks.ts'
import type { AggregationMode } from '../../../daemon/trainer/aggregation.ts'
import { type UpdateReport, update } from '../../../daemon/trainer/update.ts'
import { CORRECTIONS } from '../../../plugins/corrections/index.ts'
import { ESTIMATORS } from '../../../plugins/estimators/index.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { Columns, Hooks, Plugin } from '../../../protocol/plugin/index.ts'
import { type Group, HELD_OUT_SEED, hasSignal } from '../../../protocol/train/index.ts'
import { mean } from '../../lab/frame/statistics.ts'
import { createPluginContext } from './plugin-context.ts'
import { writeGroups } from './write-groups.ts'

export interface PluginChoice {
  use: string
  [setting: string]: unknown
}

export interface LearnerAloneOptions {
  seed: number
  model: Model
  tasks: readonly TaskChoice[]
  /** Prompts of an update, and rollouts of each. */
  prompts: number
  groupSize: number
  learningRate: number
  warmUpSteps?: number
  maxNewTokens: number
  /** Versions between the policy that writes and the one that learns. */
  lag?: number
  /** Default: mean over tokens. */
  aggregation?: AggregationMode
  /** Optimizer steps of an update; default 1. */
  minibatches?: number
  estimator?: PluginChoice
  corrections: readonly PluginChoice[]
  /** Held apart so that their compiled graphs outlive a run. */
  engines: { writes: Engine; learns: Engine }
}

export interface UpdateRound {
  /** Mean reward of what was written. */
  reward: number
  /** Share of groups whose rewards differ. */
  signal: number
  /** Undefined where nothing could be learnt from. */
  report: UpdateReport | undefined
  generatedTokens: number
}

export interface LearnerAlone {
  round(): Promise<UpdateRound>
  /** Mean reward of the newest policy on training questions that it was never asked, 8 answers each. */
  reward(prompts: number): Promise<number>
  /** Its accuracy on `questions` different held-out ones, `samples` answers each. */
  evaluate(
    promptsPerTask: number,
    samples: number,
  ): Promise<{ questions: number; sampled: number; greedy: number }>
}

const SELF = 'alone'

export async function createLearnerAlone(options: LearnerAloneOptions): Promise<LearnerAlone> {
  const { seed, model, groupSize, maxNewTokens, lag = 0, warmUpSteps = 5, engines } = options
  const policy = await openPolicy(
    { model },
    { sampler: engines.writes, trainer: engines.learns, random: randomStream(seed, 'adapter') },
  )
  const tasks = createTaskBook(TASKS, options.tasks)
  const chosen = options.estimator ?? { use: 'grpo' }
  const estimator = pluginOf(ESTIMATORS, chosen)
  const hooks = hooksOf(estimator, chosen)
  const corrections = options.corrections.map((choice) => {
    const plugin = pluginOf(CORRECTIONS, choice)
    return { name: plugin.name, hooks: hooksOf(plugin, choice) }
  })
  const objective = assembleObjective(
    corrections.flatMap(({ name, hooks: { correct } }) => (correct ? [{ name, correction: correct() }] : [])),
  )
  const world = {
    sampler: engines.learns,
    scorer: engines.learns,
    tokenizer: model.tokenizer,
    tasks,
    maxNewTokens,
  }
  /** Of the newest `lag + 1` versions, oldest first. */
  const past: Weights[] = [await engines.learns.weights()]
  let rounds = 0
  /** Questions of training. */
  const asked = new Set<string>()

  const write = async (
    sampler: Engine,
    stream: string,
    prompts: number,
    version: number,
    { answers = groupSize, isNew = false } = {},
  ): Promise<Group[]> => {
    const random = randomStream(seed, stream)
    const asks = Array.from({ length: prompts }, (_, i) => {
      const { task, difficulty } = tasks.chosen[i % tasks.chosen.length]!
      const draw = (): number => Math.floor(random() * HELD_OUT_SEED)
      const questionAt = (at: number): string => task.generate({ seed: at, difficulty }).question
      let at = draw()
      if (isNew) while (asked.has(questionAt(at))) at = draw()
      else asked.add(questionAt(at))
      return {
        prompt: { task: task.name, taskVersion: task.version, seed: at, difficulty },
        rollouts: answers,
      }
    })
    const { lineage, tokenizer } = policy.reference()
    return writeGroups(
      { asks, policy: { lineage, tokenizer, version }, author: SELF, maxNewTokens, random },
      { ...world, sampler },
    )
  }

  return {
    async round() {
      rounds += 1
      const { lineage, tokenizer, version } = policy.reference()
      if (lag > 0) await engines.writes.setWeights(past[0]!, Math.max(0, version - lag))
      const groups = await write(
        engines.writes,
        `round/${rounds}`,
        options.prompts,
        Math.max(0, version - lag),
      )
      const context = createPluginContext({ seed, step: version, name: estimator.name }, world)
      const learnsFromAny = estimator.manifest?.signal === 'any'
      let batch = groups.filter((group) => learnsFromAny || hasSignal(group))
      for (const { hooks: other } of corrections)
        batch =
          (await other.group?.(batch, { lineage, tokenizer, version, self: SELF, at: 'batch' }, context)) ??
          batch
      let report: UpdateReport | undefined
      if (batch.length > 0) {
        let advantages = await hooks.advantage!(batch, context)
        for (const { hooks: other } of corrections)
          advantages = (await other.modify?.(advantages, batch, context)) ?? advantages
        const columns: Columns = { ...objective.columns }
        for (const { name, hooks: other } of corrections)
          for (const [column, values] of Object.entries(
            (await other.columns?.(advantages, batch, context)) ?? {},
          ))
            columns[`${name}.${column}`] = values
        report = await update(
          batch,
          advantages,
          {
            columns,
            ...(options.aggregation && { aggregation: { mode: options.aggregation, length: maxNewTokens } }),
            temperature: 1,
            minibatches: options.minibatches ?? 1,
            optimizer: {
              learningRate: options.learningRate * Math.min(1, (version + 1) / warmUpSteps),
              beta1: 0.9,
              beta2: 0.99,
              epsilon: 1e-8,
              weightDecay: 0,
              maxGradientNorm: 1,
            },
            self: SELF,
            lineage,
            version,
            isBelieved: () => true,
            standing: () => 1,
            learnForeign: false,
            compare: false,
          },
          {
            engine: engines.learns,
            objective,
            random: randomStream(seed, `cut/${rounds}`),
            reference: policy.scoreReference,
          },
        )
        await policy.advance(report.steps)
        if (report.steps > 0) past.push(await engines.learns.weights())
        if (past.length > lag + 1) past.shift()
        const done = {
          step: policy.reference().version,
          metrics: report.metrics,
          groups: batch,
          advantages,
        }
        for (const each of [hooks, ...corrections.map((one) => one.hooks)]) await each.commit?.(done, context)
      }
      return {
        reward: rewardOf(groups),
        signal: groups.filter(hasSignal).length / groups.length,
        report,
        generatedTokens: context.written + groups.reduce((sum, { rollouts }) => sum + tokensIn(rollouts), 0),
      }
    },

    reward: async (prompts) =>
      rewardOf(
        await write(engines.learns, 'reward', prompts, policy.reference().version, {
          answers: 8,
          isNew: true,
        }),
      ),

    async evaluate(promptsPerTask, samples) {
      const scores = await scorePrompts({ promptsPerTask, maxNewTokens, samples }, world)
      return {
        questions: scores.reduce((sum, { greedy }) => sum + greedy.length, 0),
        sampled: mean(scores.map(({ sampled }) => mean(sampled.map(mean)))),
        greedy: mean(scores.map(({ greedy }) => mean(greedy))),
      }
    },
  }
}

function pluginOf(list: readonly Plugin[], { use }: PluginChoice): Plugin {
  const found = list.find(({ name }) => name === use)
  if (!found) throw new Error(`no plugin ${use} among ${list.map(({ name }) => name).join(', ')}`)
  return found
}

function hooksOf(plugin: Plugin, { use: _, ...given }: PluginChoice): Hooks {
  const checked = plugin.settings['~standard'].validate(given) as { value?: unknown; issues?: unknown }
  if (checked.issues) throw new Error(`${plugin.name}: ${JSON.stringify(checked.issues)}`)
  return plugin.create(checked.value)
}

function rewardOf(groups: readonly Group[]): number {
  return mean(groups.map(({ rollouts }) => mean(rollouts.map(({ reward }) => reward))))
}

function tokensIn(rollouts: Group['rollouts']): number {
  return rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0)
}
