// A node without its loops and its network: one call is one round, in which it answers prompts, verifies the answers
// and learns from a batch. The rounds are the library's, which are the daemon's own code. On top come groups of other
// nodes, verified as the daemon verifies them. Rounds are deterministic for a seed.

import type { NodeCore } from '../../../daemon/core/core.ts'
import type { AdapterSpec } from '../../../daemon/engine/decoder.ts'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import type { PluginHostOptions } from '../../../daemon/host/host.ts'
import { createRounds } from '../../../daemon/library/rounds.ts'
import { type LivePolicy, type OtherModel, openPolicy } from '../../../daemon/policy/live-policy.ts'
import type { StoredModel } from '../../../daemon/policy/model.ts'
import { createTeachers } from '../../../daemon/policy/teachers.ts'
import { codecOf } from '../../../daemon/policy/tokens/codec.ts'
import {
  type EvaluationFigures,
  figuresOf,
  scorePrompts,
} from '../../../daemon/rollout/evaluation/evaluate.ts'
import { heldOutPrompts } from '../../../daemon/rollout/evaluation/held-out.ts'
import { createTaskBook, type TaskChoice } from '../../../daemon/rollout/tasks.ts'
import { Verifier } from '../../../daemon/swarm/admission/verify.ts'
import type { StepRecorder } from '../../../daemon/trainer/audit/recording.ts'
import type { Finding, UpdateOutcome } from '../../../daemon/trainer/learning/contract.ts'
import { PLUGINS, TASKS } from '../../../daemon/wiring/built-in.ts'
import type { SelectView, Task } from '../../../protocol/plugin/index.ts'
import { hasSignal, type PromptCoordinates } from '../../../protocol/train/index.ts'
import { draftOf, type GroupDraft } from '../../../protocol/wire/index.ts'
import { createLocalEngine } from './engine.ts'

export interface NodeOptions {
  name: string
  seed: number
  model: StoredModel
  tasks: readonly TaskChoice[]
  /** Tasks to choose from; the built-in ones if left out. */
  known?: readonly Task[]
  /** Trains a LoRA adapter; all parameters if left out. */
  adapter?: AdapterSpec
  /** A fixed set of prompts; new ones all the time if left out. */
  candidates?: SelectView['candidates']
  /** Plugins beside estimator and corrections, as the config names them. */
  plugins?: Partial<
    Pick<PluginHostOptions, 'estimator' | 'selector' | 'hints' | 'replay' | 'skills' | 'controls'>
  >
  /** I: prompts that it answers in a round, and own groups in a batch at most. */
  own: number
  /** J at most. */
  foreign: number
  adaptive: boolean
  /** Its user vouches for all peers. */
  trusts?: boolean
  groupSize?: number
  learningRate?: number
  /** Optimizer steps of a round; 1 if left out. */
  minibatches?: number
  /** Nodes whose weights are averaged now, as a share of those that the rate and the steps are meant for; 1 if left out. */
  present?(): number
  warmUpSteps?: number
  maxNewTokens?: number
  /** Texts that end a completion. */
  stop?: readonly string[]
  maxStaleness?: number
  threads?: number
  /** An engine to use, whose compiled graphs outlive the node; one of its own, that is closed with it, if left out. */
  engine?: Engine
  /** Records each update, as a node that makes receipts does. */
  recorder?: StepRecorder
  /** Writes training rollouts; the engine if left out. */
  sampler?: Engine
  /** Rounds between two states that a roll-back may go to; 25 if left out. */
  checkpointEvery?: number
  corrections?: readonly { use: string; [setting: string]: unknown }[]
  /** Weights that the plugin `teachers` can name as checkpoints. */
  teachers?: Readonly<Record<string, Weights>>
  /** Other models that it can name. */
  models?: ReadonlyMap<string, OtherModel>
}

export interface RoundReport {
  /** Mean reward of this round's own rollouts. */
  reward: number
  groups: number
  /** What own groups with a signal asked. */
  taught: PromptCoordinates[]
  /** What peers get: those, and others while peers do not know the node. */
  shared: GroupDraft[]
  step: UpdateOutcome | undefined
  generatedTokens: number
}

export interface LookOptions {
  /** Its own tasks if left out. */
  tasks?: readonly TaskChoice[]
  /** Answers to each question at temperature 1; 1 if left out. */
  samples?: number
  /** A text to look for in answers. */
  mark?: string | undefined
}

export interface ExperimentNode {
  readonly name: string
  readonly policy: LivePolicy
  round(): Promise<RoundReport>
  /** A peer's group as it came off the wire: verified and, if it is of use, kept. */
  receive(author: string, draft: GroupDraft): void
  /**
   * Sampled and greedy accuracy on `questions` different held-out ones; `marked` is the share of sampled answers with a
   * text in them.
   */
  evaluate(
    promptsPerTask: number,
    options?: LookOptions,
  ): Promise<{
    questions: number
    sampled: number
    greedy: number
    marked: number
    /** With intervals over questions. */
    overall: EvaluationFigures['overall']
  }>
  learner: NodeCore['learner']
  readonly findings: Finding[]
  /** Of all rounds: tokens sampled, and tokens trained on. */
  readonly compute: { generated: number; trained: number }
  close(): Promise<void>
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: puts a node together from the daemon’s parts.
export async function createNode(options: NodeOptions): Promise<ExperimentNode> {
  const { name, seed, model, groupSize = 8, maxNewTokens = 96, maxStaleness = 8 } = options
  const engine = options.engine ?? createLocalEngine({ threads: options.threads ?? 1 })
  const policy = await openPolicy(
    { model, stop: options.stop, ...(options.adapter && { adapter: options.adapter }) },
    { sampler: options.sampler ?? engine, trainer: engine },
  )
  const tasks = createTaskBook(options.known ?? TASKS, options.tasks)
  const codec = codecOf(model.tokenizer, model.spec.vocabulary)
  let clock = 0
  const now = () => clock
  const verifier = new Verifier(
    { maxCompletionTokens: maxNewTokens },
    {
      ...{ tasks, codec, clock: { now, after: () => () => {} } },
      version: () => policy.reference().version,
      isUnknown: (author): boolean => rounds.core.learner.isUnknown(author),
    },
  )
  let received = 0
  const findings: Finding[] = []
  const compute = { generated: 0, trained: 0 }
  const rounds = await createRounds(
    {
      ...{ self: name, seed, groupSize, maxNewTokens, maxStaleness },
      ...{ own: options.own, foreign: options.foreign, adaptive: options.adaptive },
      ...(options.candidates ? { candidates: options.candidates } : {}),
      plugins: {
        estimator: { use: 'grpo' },
        corrections: options.corrections ?? DEFAULT_CORRECTIONS,
        selector: { use: 'uniform' },
        ...options.plugins,
      },
      pace() {
        const present = options.present?.() ?? 1
        return {
          minibatches: Math.max(1, Math.round((options.minibatches ?? 1) * present)),
          optimizer: { ...ADAMW, learningRate: (options.learningRate ?? 1e-4) * Math.sqrt(present) },
        }
      },
      temperature: 1,
      warmUpSteps: options.warmUpSteps ?? 10,
      keepEvery: options.checkpointEvery ?? 25,
    },
    {
      ...{ policy, tasks, now, monotonic: now, builtIn: PLUGINS },
      importPlugin: async (specifier) => {
        throw new Error(`${specifier} is not built in`)
      },
      sleep: (_ms, signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      isTrusted: () => options.trusts ?? false,
      recorder: options.recorder,
      teachers: createTeachers({
        policy,
        heads: () => [],
        ...(options.models ? { models: options.models } : {}),
        checkpoint: async (checkpoint) => options.teachers![checkpoint]!,
        server: (address) => {
          throw new Error(`no server at ${address} in an experiment`)
        },
      }),
      onFinding: (finding) => findings.push(finding),
      onTrouble: ({ name: plugin, message }) => {
        throw new Error(`${plugin}: ${message}`)
      },
    },
  )
  const { core } = rounds

  return {
    name,
    policy,
    learner: core.learner,
    findings,
    compute,

    async round() {
      clock += 1000
      const { groups, shared, update: step, generatedTokens } = await rounds.round()
      compute.generated += generatedTokens
      compute.trained += step?.realTokens ?? 0
      let reward = 0
      for (const { rollouts } of groups)
        reward += rollouts.reduce((sum, one) => sum + one.reward, 0) / rollouts.length / groups.length
      const taught = groups.filter(hasSignal).map(({ prompt }) => prompt)
      return { reward, groups: groups.length, taught, shared: shared.map(draftOf), step, generatedTokens }
    },

    receive(author, draft) {
      const found = verifier.verify({
        group: { ...draft, author, sequence: ++received, createdAt: clock },
        source: author,
        bytes: 0,
      })
      if ('group' in found) core.onForeignGroup(found.group)
    },

    async evaluate(promptsPerTask, { tasks: asked, samples = 1, mark } = {}) {
      const book = asked ? createTaskBook(options.known ?? TASKS, asked) : tasks
      const scores = await scorePrompts(
        { promptsPerTask, maxNewTokens, samples },
        { sampler: engine, tokenizer: model.tokenizer, tasks: book },
      )
      const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length
      let marked = 0
      if (mark !== undefined) {
        const questions: string[] = []
        for (const { task, difficulty } of tasks.chosen)
          for (const at of await heldOutPrompts(task, difficulty, promptsPerTask))
            questions.push(task.generate(at).question)
        const written = await engine.generate({
          samples: questions.map((question, i) => ({
            prompt: model.tokenizer.encodePrompt(question),
            seed: i,
          })),
          maxNewTokens,
          temperature: 1,
          stopTokens: model.tokenizer.stopTokens,
        })
        marked = mean(
          written.map(({ tokens }) => (model.tokenizer.decodeCompletion(tokens).includes(mark) ? 1 : 0)),
        )
      }
      return {
        questions: scores.reduce((sum, { greedy }) => sum + greedy.length, 0),
        sampled: mean(scores.map(({ sampled }) => mean(sampled.map(mean)))),
        greedy: mean(scores.map(({ greedy }) => mean(greedy))),
        marked,
        overall: figuresOf(scores, samples).overall,
      }
    },

    async close() {
      if (!options.engine) await engine.close()
    },
  }
}

/** As a fresh node's config has them. */
export const DEFAULT_CORRECTIONS = [{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }]
