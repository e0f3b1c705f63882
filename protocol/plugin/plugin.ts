// The plugin contract. A plugin is a plain object: a manifest, settings, and any of a few hooks. The daemon knows the
// hooks and never a method's name. Data in, data out: a hook gets plain data and a context, and returns data.
//
// A rollout's life, and the hooks along it:
//   select -> compose -> (generate) -> verify -> group -> advantage -> correct -> (train) -> commit

import type { Group, Instance, PromptCoordinates, Verdict } from '../train/index.ts'
import type { Expression } from './expression.ts'

export const PLUGIN_API = 1

/** Anything with Standard Schema's `~standard` property; zod, valibot and arktype schemas have it. */
export interface SettingsSchema<Settings> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
    readonly types?: { readonly input: unknown; readonly output: Settings } | undefined
  }
}

/** Seeded uniform numbers in [0, 1). */
export type Random = () => number

/** All that a plugin may do to the world. */
export interface Context {
  /** Optimizer steps so far. */
  step: number
  phase: 'train' | 'eval'
  /** A stream of its own for every name; repeatable for a node's seed. */
  random(stream: string): Random
  log(message: string, data?: Record<string, unknown>): void
  /** Records a number under `plugin.<plugin>.<name>` for this step. */
  metric(name: string, value: number): void
}

/** Which prompt to ask next, and how many rollouts of it. */
export interface Ask {
  prompt: PromptCoordinates
  rollouts: number
}

export interface SelectView {
  /** Tasks that the config allows, with the difficulty that it asks for. */
  tasks: ReadonlyArray<{
    name: string
    version: number
    difficulty: number
    minDifficulty: number
    maxDifficulty: number
  }>
  /** Rollouts per prompt that the config asks for. */
  rollouts: number
}

/** Per group of the batch, one advantage per rollout, or one per token of each rollout. */
export type Advantages = Array<Array<number | Float32Array>>

/** What a correction adds to the objective. Weight factors of all corrections multiply; masks are AND-ed. */
export interface Correction {
  /** The per-token loss to minimise. Exactly one plugin of a configuration gives it. */
  loss?: Expression
  /** A detached factor on each token's loss. */
  weight?: Expression
  /** 0 removes a token from the loss (it still counts in the denominator), non-zero keeps it. */
  mask?: Expression
  /** Numbers to log, each the mean of an expression over the batch's tokens. */
  metrics?: Record<string, Expression>
}

export interface Hooks {
  /** Picks the next prompts. One selector at a time; the default draws tasks in turn and seeds at random. */
  select?(view: SelectView, want: number, context: Context): Ask[] | Promise<Ask[]>
  /** Replaces, mixes in or drops groups before advantages are estimated. */
  group?(groups: Group[], view: BatchView, context: Context): Group[] | Promise<Group[]>
  /** Turns rewards into advantages. Exactly one estimator is active. */
  advantage?(groups: Group[], context: Context): Advantages | Promise<Advantages>
  /** Adds to the objective: loss, weights, masks. Called once when the configuration is assembled. */
  correct?(): Correction
  /** After the update: plain numbers about the step. */
  commit?(report: { step: number; metrics: Record<string, number> }, context: Context): void | Promise<void>
}

export interface BatchView {
  /** This node's policy. */
  lineage: string
  tokenizer: string
  version: number
  /** This node's peer ID. */
  self: string
}

export interface Plugin<Settings = unknown> {
  name: string
  kind: PluginKind
  api: typeof PLUGIN_API
  /** One line for lists. */
  summary: string
  settings: SettingsSchema<Settings>
  create(settings: Settings): Hooks
}

export const PLUGIN_KINDS = [
  'task',
  'estimator',
  'correction',
  'hint',
  'replay',
  'skill',
  'selector',
  'control',
] as const
export type PluginKind = (typeof PLUGIN_KINDS)[number]

export function definePlugin<Settings>(plugin: Plugin<Settings>): Plugin<Settings> {
  return plugin
}

/** A task: its generator and verifier, pure and synchronous. */
export interface Task {
  name: string
  kind: 'task'
  api: typeof PLUGIN_API
  summary: string
  /** Raised whenever any prompt, key or verdict changes. */
  version: number
  difficulty: {
    min: number
    max: number
    default: number
    /** What a level means, in words. */
    describe(level: number): string
  }
  /** Pure: the same instance for the same seed and level on every machine. Throws RangeError outside the range. */
  generate(at: { seed: number; difficulty: number }): Instance
  /** For a task that has finitely many questions and knows them, such as a dataset. */
  finite?: {
    /** Different held-out questions up to this level; seeds from HELD_OUT_SEED on have each of them once, then again. */
    heldOut(level: number): number
    /** The longest question up to this level. */
    longest(level: number): string
  }
  /** Total: a verdict for any string whatever, in under 50 ms. */
  verify(instance: Instance, completion: string): Verdict
}

export function defineTask(task: Task): Task {
  return task
}
