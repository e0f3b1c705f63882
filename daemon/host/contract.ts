// The plugin host's interface to the rest of the daemon. It runs the hooks of all plugins in order, contains their
// failures, and checks their results. The node never learns the name of a method.
//
// The generate side opens a `round`, the train side a `batch`, an evaluation an `evaluation`. A plugin that fails in
// one of these is out until its end, and after its third failure it is switched off. The three do not wait for one
// another.

import type {
  Advantages,
  BatchView,
  Columns,
  CommitReport,
  ComposeView,
  Context,
  LiveRollout,
  Manifest,
  Need,
  PluginKind,
  PromptRequest,
  ReceivedGroup,
  Request,
  RoleGroup,
  Scored,
  ScoreItem,
  ScoreOptions,
  SelectView,
  Slot,
  Steering,
  SteerView,
  TaughtInfo,
  TeacherInfo,
  TeacherQuestion,
  Teaching,
  TextRequest,
  Written,
} from '../../protocol/plugin/index.ts'
import type { Group, Instance, Origin, PromptCoordinates, Verdict } from '../../protocol/train/index.ts'
import type { PluginChoice, PluginSource } from './load.ts'
import type { PluginObjective } from './objective.ts'

export interface PluginHostOptions {
  estimator: PluginChoice
  corrections: readonly PluginChoice[]
  selector: PluginChoice
  hints?: readonly PluginChoice[]
  replay?: readonly PluginChoice[]
  skills?: readonly PluginChoice[]
  /** Plugins of kind `control`, and further selectors. */
  controls?: readonly PluginChoice[]
  /** Seed of the plugins' random streams. */
  seed: number
  /** Default time limit of a hook, in milliseconds. */
  hookTimeoutMs?: number
  /** Needs of plugins that this node meets. Default: all but `recurring`, `park` and `episodes`. */
  offers?: ReadonlySet<Need>
  /** Roles for which the node has a model. Default: any. */
  roles?: readonly string[]
}

export interface PluginHostParts extends PluginSource {
  /** Monotonic milliseconds. */
  now(): number
  /** Resolves after `ms` milliseconds, or rejects when aborted. */
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
  /** True if it exceeded its time limit. */
  slow?: boolean
  /** True if only its request or result was refused, which is no strike. */
  refused?: boolean
}

export interface PluginStatus {
  kind: PluginKind
  name: string
  summary: string
  state: 'ok' | 'slow' | 'failing' | 'off'
  msPerStep: number
  strikes: number
  message?: string
  /** What it does at present, in words. */
  doing?: string[]
  taught?: TaughtInfo[]
}

/** The part of the node that plugins can reach. The host enforces budgets, leak checks and phases. */
export interface World {
  /**
   * Generates at most `tokens` tokens in total. Longer texts are cut off, and `cut` is true. Requests that cannot be
   * generated get empty texts, and `unasked` gives the reason.
   */
  generate(
    requests: readonly TextRequest[],
    options: { tokens: number; seed: number; signal: AbortSignal },
  ): Promise<{ texts: Written[][]; cut: boolean; unasked?: string }>
  score(items: readonly ScoreItem[], options: ScoreOptions & { signal: AbortSignal }): Promise<Scored[]>
  teachers(): readonly TeacherInfo[]
  /** One answer to each question, at most `tokens` in total; the last are empty if that is too few. */
  answer(
    questions: readonly TeacherQuestion[],
    options: { teacher: string | undefined; tokens: number; seed: number; signal: AbortSignal },
  ): Promise<Written[]>
  instance(at: PromptCoordinates): Instance
  verify(at: PromptCoordinates, completion: string): Verdict
  conditioning: Context['conditioning']
  encode(text: string): Int32Array
  limits: Context['limits']
}

/** The rewrites of all plugins combined. The texts go directly before and after the question. */
export interface Composed {
  before: string
  after: string
  /** The plugins' arms, joined by `+`. */
  arm: string
  tainted: boolean
  /** The origin of the first plugin, with the library items of all plugins. */
  origin: Origin
}

/** A plugin's request for a group, generated with the round. */
export interface Work {
  /** `kind/name`. */
  plugin: string
  request: Request
  /** Replaces the `compose` hooks. Already checked for leaks. */
  rewrite?: Composed
  /** True if the rollout that it continues is tainted. */
  tainted?: boolean
}

/** Input of the `extend` hooks; the host adds `asked` and `tokensLeft`. */
interface Landed {
  groups: readonly Group[]
  /** Groups by plugin, then by request id or `into`. */
  landed: ReadonlyMap<string, ReadonlyMap<string, Group>>
}

/** One round of the generate side. */
export interface PluginRound {
  /** Gives plugins the foreign groups that have arrived since the last round. */
  receive(): Promise<void>
  /** The picker's next prompts, using the weights of all `weigh` hooks. */
  select(view: SelectView, want: number): Promise<PromptRequest[]>
  /** Number of groups to start so that `want` groups get finished; equals `want` without a flow plugin. */
  oversample(want: number): number
  /** Undefined if no plugin rewrites the prompt. */
  compose(view: ComposeView): Promise<Composed | undefined>
  /** True while a plugin steers. */
  readonly steers: boolean
  /** True while a plugin may ask for more work. */
  readonly extends: boolean
  /** What to do with each live rollout, by its id. Rollouts that are absent from the map are kept. */
  steer(live: readonly LiveRollout[], view: SteerView): Promise<Map<string, Steering>>
  /**
   * More work from all plugins, to be generated before the next call; empty if there is none. Plugins that have spent
   * their tokens get none.
   */
  extend(landed: Landed, view: BatchView): Promise<Work[]>
  /** The group with the plugins' rewards; where they differ, `taskReward` keeps the verifier's. */
  reward(group: Group): Promise<Group>
  /**
   * Applies the `group` hooks. `groups`: those of the round's own prompts first, then those that plugins
   * requested with `keep: 'train'`. Drops groups requested by a plugin that is out of the round.
   */
  group(groups: readonly Group[], view: BatchView): Promise<Group[]>
  observe(groups: readonly Group[]): Promise<void>
  /** Charges tokens to a plugin. If false, it has none left: cut the rest of its work. */
  spend(plugin: string, tokens: number): boolean
  tokensLeft(plugin: string): number
  /** True for a plugin that failed in this round: cut its work and drop its groups. */
  isOut(plugin: string): boolean
}

/** One batch of the train side. */
export interface PluginBatch {
  group(groups: readonly Group[], view: BatchView): Promise<Group[]>
  /** The estimator's advantages after all `modify` hooks. Throws if the estimator fails. */
  advantage(groups: Group[]): Promise<Advantages>
  /** What teachers say about the answers; undefined without a teacher. */
  teach(groups: readonly Group[]): Promise<Teaching | undefined>
  /** Values of the objective's own columns for this batch. */
  columns(advantages: Advantages, groups: readonly Group[]): Promise<Columns>
  /** Tells plugins about the update. Returns the texts that roles learn from. */
  commit(report: CommitReport): Promise<RoleGroup[]>
}

/** Plugins in an evaluation: only those with a `testTime`. `frozen` ones act on a copy of their state. */
export interface PluginEvaluation {
  compose(view: ComposeView): Promise<Composed | undefined>
}

/** A plugin's saved state. */
export interface SavedState {
  /** `kind/name`. */
  plugin: string
  /** Version of the state's format. */
  version: number
  bytes: Uint8Array
}

/** Plugin states that are exchanged with peers; see PluginStates in the swarm. */
export interface SharedStates {
  wanted(): ReadonlyArray<{ name: string; version: number }>
  own(name: string): Promise<Uint8Array | undefined>
  received(name: string, from: string, bytes: Uint8Array): Promise<void>
}

/** Facts about a configured plugin, for listings. */
export interface PluginFacts {
  kind: PluginKind
  name: string
  summary: string
  needs: readonly Need[]
  slots: readonly Slot[]
  roles: NonNullable<Manifest['roles']>
}

export interface PluginHost {
  readonly objective: PluginObjective
  readonly facts: readonly PluginFacts[]
  /** True if the estimator also learns from groups whose rewards are all equal. */
  readonly learnsFromAny: boolean
  /** False if the estimator wants no policy update. */
  readonly updates: boolean
  /** Whether advantages and columns follow from a batch alone: no plugin that gives them has a state or asks a model. */
  readonly isReplayable: boolean
  /** True if a plugin has a token budget for generating texts. */
  readonly writes: boolean
  /** Models that plugins ask as teachers, as `model.path` names them. */
  readonly teachers: readonly string[]
  /** Loads saved states and opens every plugin. Before that, plugins cannot reach the node. */
  open(world: World, step: number, states?: readonly SavedState[]): Promise<void>
  /** Call after a roll-back. */
  restore(step: number, states: readonly SavedState[]): Promise<void>
  save(): Promise<SavedState[]>
  /** Takes a verified foreign group for the plugins' next round. */
  arrived(group: ReceivedGroup): void
  round(at: { step: number }): PluginRound
  batch(at: { step: number }): PluginBatch
  evaluation(at: { step: number }): Promise<PluginEvaluation>
  readonly shared: SharedStates
  /** Metrics that plugins recorded since the last call. */
  takeMetrics(): Record<string, number>
  status(): PluginStatus[]
  close(): Promise<void>
}
