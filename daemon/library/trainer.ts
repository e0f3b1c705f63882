// A trainer: runs the daemon's own rounds on a model, with plugins, one round per call. No loop, no peers, no files.

import { WaggleError } from '../../protocol/errors.ts'
import type { Plugin, Task } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { asPlugin } from '../host/load.ts'
import { createPluginFiles } from '../host/plugin-files.ts'
import { sleep } from '../platform/index.ts'
import { endingWith } from '../policy/live-policy.ts'
import { scorePrompts } from '../rollout/evaluation/evaluate.ts'
import { createTaskBook, type TaskBook } from '../rollout/tasks.ts'
import { PLUGINS, TASKS } from '../wiring/built-in.ts'
import { checkKeys, checkList, refuse, STEP } from './arguments.ts'
import type { Model, StepOptions } from './contract.ts'
import { policyOf } from './model.ts'
import { choiceOf, type PluginUse } from './objective.ts'
import { ownTask } from './own-task.ts'
import { createRounds, type RoundsOptions } from './rounds.ts'
import { checkSeed, optimizerOf } from './rows.ts'
import { throwInWordsOfOptions } from './words.ts'

/** A built-in task by name, at its usual difficulty or another one; or a task of your own. */
export type TaskUse = string | { name: string; difficulty?: number } | Task

export interface TrainerOptions extends Partial<StepOptions> {
  /** Seed of prompts and samples. A 32-bit integer. */
  seed: number
  tasks: readonly TaskUse[]
  /** Turns rewards into advantages. Default: `grpo`. */
  estimator?: PluginUse
  /** Together they make the loss. Default: `clip` and `tis`, as in a node. */
  corrections?: readonly PluginUse[]
  /** Chooses prompts. Default: `uniform`. */
  selector?: PluginUse
  hints?: readonly PluginUse[]
  replay?: readonly PluginUse[]
  skills?: readonly PluginUse[]
  controls?: readonly PluginUse[]
  /** Plugins of your own, which the keys above can then name. A path or an installed package needs no entry here. */
  plugins?: readonly Plugin[]
  /** Prompts per round. Default: 16. */
  prompts?: number
  /** Rollouts per prompt. Default: 8. */
  groupSize?: number
  /** Default: 96. */
  maxNewTokens?: number
  /** Texts that end a completion, for a model that has not learnt to end its answers. Default: none. */
  stop?: readonly string[]
  /** Temperature of sampling and of the trained policy. Default: 1. */
  temperature?: number
  /** Optimizer steps per round. Default: 1. */
  minibatches?: number
  /** Optimizer steps over which the learning rate rises linearly. Default: 10. */
  warmUpSteps?: number
  /** Called when a guard acts, for example when it restores earlier weights. */
  onGuard?(message: string): void
  /** Called when a plugin's hook fails, or a task of your own on an answer, which scores 0. Default: the round rejects. */
  onTrouble?(message: string): void
}

/** The result of an update. */
export interface Update {
  /** Mean loss over tokens. */
  loss: number
  /** 2-norm of the gradient before clipping. */
  gradientNorm: number
  /** Metrics of the plugins, and of the corrections as means over tokens. */
  metrics: Record<string, number>
  /** Compute time. */
  seconds: number
  /** True if a guard then restored earlier weights. */
  rolledBack: boolean
}

export interface Round {
  /** This round's groups with their rollouts and rewards. */
  groups: readonly Group[]
  /** Mean reward of the rollouts, 0 to 1 with the built-in tasks. */
  reward: number
  /** Share of groups whose rewards differ, so that they give a gradient. */
  signal: number
  generatedTokens: number
  /** Undefined if there was nothing to train on. */
  update: Update | undefined
  /** Optimizer steps so far. */
  version: number
}

/** Mean scores on held-out questions, which are never trained on. */
export interface Accuracy {
  /** Number of different questions. */
  questions: number
  /** Mean score of answers sampled at temperature 1. */
  sampled: number
  /** Mean score of greedy answers. */
  greedy: number
  /** The same figures by task. */
  tasks: Record<string, { questions: number; sampled: number; greedy: number }>
}

export interface Trainer {
  /** Samples a round of rollouts, verifies them and trains on them. */
  round(options?: { signal?: AbortSignal }): Promise<Round>
  /** Measures held-out accuracy, with the same questions and seeds each time. Default: 100 questions per task. */
  evaluate(options?: { promptsPerTask?: number }): Promise<Accuracy>
  /** Closes the plugins. The model stays open. */
  close(): Promise<void>
}

const now = Date.now
const monotonic = (): number => performance.now()

/**
 * Creates a trainer of this model. Its rounds drop the gradient that `accumulate` has gathered. Throws E_TASK and
 * E_PLUGIN with every problem of the tasks and plugins.
 */
export async function createTrainer(model: Model, options: TrainerOptions): Promise<Trainer> {
  const { sampler, ...opened } = policyOf(model)
  checkTrainer(options)
  const policy = { ...opened, sampler: endingWith(sampler, options.stop ?? []) }
  const troubles: { code: 'E_PLUGIN' | 'E_TASK'; text: string }[] = []
  const trouble = (code: 'E_PLUGIN' | 'E_TASK', text: string): void => {
    if (options.onTrouble) options.onTrouble(text)
    else troubles.push({ code, text })
  }
  const rejectTroubles = (): void => {
    if (troubles.length === 0) return
    const [{ code }] = troubles as [(typeof troubles)[0]]
    const texts = new Set(troubles.splice(0).map(({ text }) => text))
    throw new WaggleError(code, [...texts].join('\n'), {
      hint: 'Fix the plugin or the task, or pass onTrouble to go on without what fails.',
    })
  }
  const tasks = taskBookOf(options.tasks, (text) => trouble('E_TASK', text))
  const sizes = sizesOf(options)
  const rounds = await createRounds(roundsOptions(options, sizes), {
    ...{ policy, tasks, now, monotonic },
    builtIn: [...ownPlugins(options), ...PLUGINS],
    ...createPluginFiles({ base: process.cwd(), plugins: process.cwd() }),
    sleep,
    isTrusted: () => false,
    onFinding: (finding) => {
      if (finding.type === 'guard') options.onGuard?.(finding.message)
    },
    onTrouble({ name, hook, message }) {
      trouble('E_PLUGIN', `plugin ${name}, hook ${hook}: ${message}`)
    },
  }).catch((error) => throwInWordsOfOptions(error, { E_PLUGIN }))

  return {
    async round({ signal } = {}) {
      policyOf(model)
      const { groups, update, generatedTokens } = await rounds.round(signal)
      rejectTroubles()
      const rewards = groups.map(({ rollouts }) => rollouts.map(({ reward }) => reward))
      return {
        groups,
        reward: mean(rewards.map(mean)),
        signal: mean(rewards.map((those) => (Math.max(...those) - Math.min(...those) >= 1e-6 ? 1 : 0))),
        generatedTokens,
        update: update && {
          loss: update.loss,
          gradientNorm: update.gradientNorm,
          metrics: { ...update.metrics, ...update.pluginMetrics },
          seconds: update.seconds,
          rolledBack: update.rolledBack === true,
        },
        version: model.version,
      }
    },

    async evaluate({ promptsPerTask = 100 } = {}) {
      policyOf(model)
      checkCount('promptsPerTask', promptsPerTask, 1)
      const { sampler, model: known } = policy
      const scores = await scorePrompts(
        { promptsPerTask, maxNewTokens: sizes.maxNewTokens, context: known.spec.contextLength },
        { sampler, tokenizer: known.tokenizer, tasks },
      )
      rejectTroubles()
      return accuracyOf(scores)
    },

    close: () => rounds.close(),
  }
}

const LISTS = ['tasks', 'corrections', 'hints', 'replay', 'skills', 'controls', 'plugins', 'stop'] as const
const NAMES: Record<keyof TrainerOptions, true> = {
  ...STEP,
  ...{ tasks: true, corrections: true, hints: true, replay: true, skills: true, controls: true },
  ...{ plugins: true, stop: true, seed: true, estimator: true, selector: true, prompts: true },
  ...{ groupSize: true, maxNewTokens: true, temperature: true, minibatches: true, warmUpSteps: true },
  ...{ onGuard: true, onTrouble: true },
}

function checkTrainer(options: TrainerOptions): void {
  checkKeys('the options of createTrainer', options, NAMES)
  const { temperature = 1, minibatches = 1, warmUpSteps = 10 } = options
  for (const name of LISTS)
    if (name === 'tasks' || options[name] !== undefined) checkList(name, options[name], `${name}: ['NAME']`)
  checkCount('minibatches', minibatches, 1)
  checkCount('warmUpSteps', warmUpSteps, 0)
  if (!(typeof temperature === 'number' && temperature > 0 && temperature < Number.POSITIVE_INFINITY))
    refuse(`temperature has to be a number above 0, not ${temperature}`)
}

function checkCount(name: string, value: unknown, least: number): void {
  if (!(Number.isInteger(value) && (value as number) >= least))
    refuse(`${name} has to be a whole number from ${least} up, not ${value}`)
}

function ownPlugins({ plugins = [] }: TrainerOptions): Plugin[] {
  return plugins.map((plugin, i) => {
    try {
      return asPlugin(plugin)
    } catch (error) {
      const { message } = error as Error
      throw new WaggleError(
        'E_PLUGIN',
        `plugins[${i}]: ${message.replace('default export of the module', 'object')}`,
      )
    }
  })
}

/** What to do about plugins that cannot be used. */
const E_PLUGIN = 'Correct the plugins, or the options that createTrainer was given for them.'

function taskBookOf(uses: readonly TaskUse[], onTrouble: (text: string) => void): TaskBook {
  uses.forEach((use: unknown, i) => {
    if (typeof use !== 'string' && typeof (use as { name?: unknown } | null)?.name !== 'string')
      throw new WaggleError(
        'E_TASK',
        `tasks[${i}] is no name, no { name, difficulty }, and no task with a name`,
      )
  })
  const own = uses
    .filter((task): task is Task => typeof task === 'object' && 'generate' in task)
    .map((task) => ownTask(task, onTrouble))
  const tasks = createTaskBook(
    [...own, ...TASKS.filter(({ name }) => !own.some((task) => task.name === name))],
    uses.map((task) =>
      typeof task === 'string' ? { name: task } : 'generate' in task ? { name: task.name } : task,
    ),
  )
  if (tasks.chosen.length === 0) throw new WaggleError('E_TASK', 'there is no task to train on')
  return tasks
}

interface Sizes {
  prompts: number
  groupSize: number
  maxNewTokens: number
}

function sizesOf({ prompts = 16, groupSize = 8, maxNewTokens = 96 }: TrainerOptions): Sizes {
  const sizes = { prompts, groupSize, maxNewTokens }
  for (const [name, value] of Object.entries(sizes)) checkCount(name, value, 1)
  return sizes
}

function roundsOptions(options: TrainerOptions, { prompts, ...sizes }: Sizes): RoundsOptions {
  const choices = (list: readonly PluginUse[] = []) => list.map(choiceOf)
  const pace = {
    minibatches: options.minibatches ?? 1,
    optimizer: optimizerOf({ ...options, learningRate: options.learningRate ?? 1e-4 }),
  }
  return {
    ...{ self: 'this program', seed: checkSeed(options.seed), own: prompts, ...sizes },
    plugins: {
      estimator: choiceOf(options.estimator ?? 'grpo'),
      corrections: choices(options.corrections ?? ['clip', { use: 'tis', unknown: 'keep' }]),
      selector: choiceOf(options.selector ?? 'uniform'),
      hints: choices(options.hints),
      replay: choices(options.replay),
      skills: choices(options.skills),
      controls: choices(options.controls),
      roles: [],
    },
    foreign: 0,
    adaptive: false,
    temperature: options.temperature ?? 1,
    pace: () => pace,
    warmUpSteps: options.warmUpSteps ?? 10,
    maxStaleness: 8,
    keepEvery: 25,
  }
}

function accuracyOf(scores: Awaited<ReturnType<typeof scorePrompts>>): Accuracy {
  const byTask = scores.map(({ task, sampled, greedy }) => ({
    task,
    questions: greedy.length,
    sampled: mean(sampled.map(mean)),
    greedy: mean(greedy),
  }))
  return {
    questions: byTask.reduce((sum, { questions }) => sum + questions, 0),
    sampled: mean(byTask.map(({ sampled }) => sampled)),
    greedy: mean(byTask.map(({ greedy }) => greedy)),
    tasks: Object.fromEntries(byTask.map(({ task, ...figures }) => [task, figures])),
  }
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length
}
