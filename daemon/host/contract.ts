// The plugin host as the rest of the daemon sees it: hooks of all plugins run in order, failures stay in here, and what
// comes out is checked. The node never learns a method's name.
//
// The generate side opens a `round`, the train side a `batch`, an evaluation an `evaluation`. A plugin that fails in one
// of these is out of it until its end, and at the third failure for good. The three do not wait for one another.

import type {
  Advantages,
  Ask,
  BatchView,
  Columns,
  CommitReport,
  ComposeView,
  Context,
  LiveRollout,
  Manifest,
  Need,
  PluginKind,
  Request,
  RoleGroup,
  Scored,
  ScoreItem,
  ScoreOptions,
  SelectView,
  Slot,
  Steering,
  SteerView,
  TextRequest,
  Written,
} from '../../protocol/plugin/index.ts'
import type { Group, Instance, Origin, PromptCoordinates, Verdict } from '../../protocol/train/index.ts'
import type { PluginChoice, PluginSource } from './load.ts'
import type { Objective } from './objective.ts'

export interface HostOptions {
  estimator: PluginChoice
  corrections: readonly PluginChoice[]
  selector: PluginChoice
  hints?: readonly PluginChoice[]
  replay?: readonly PluginChoice[]
  skills?: readonly PluginChoice[]
  /** Of kind `control`, or selectors beside the first. */
  controls?: readonly PluginChoice[]
  /** Seed of the plugins' random streams. */
  seed: number
  /** Wall-clock milliseconds that one hook may take where its manifest does not say. */
  hookTimeoutMs?: number
  /** What plugins may need and this node has. All but `recurring`, `park` and `episodes` if left out. */
  offers?: ReadonlySet<Need>
  /** Trainable models beside the policy that the node can have; any if left out. */
  roles?: readonly string[]
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
  /** True where only what it gave was refused, which is no strike. */
  refused?: boolean
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

/** What plugins do to the world, for all of them; budgets, leaks and phases are the host's. */
export interface World {
  /**
   * Writes at most `tokens` tokens in all: what would go beyond is cut off, and `cut` is true. Requests that cannot be asked
   * get empty texts, and `unasked` says why.
   */
  generate(
    requests: readonly TextRequest[],
    options: { tokens: number; seed: number; signal: AbortSignal },
  ): Promise<{ texts: Written[][]; cut: boolean; unasked?: string }>
  score(items: readonly ScoreItem[], options: ScoreOptions & { signal: AbortSignal }): Promise<Scored[]>
  instance(at: PromptCoordinates): Instance
  verify(at: PromptCoordinates, completion: string): Verdict
  conditioning: Context['conditioning']
  encode(text: string): Int32Array
  limits: Context['limits']
}

/** Rewrites of all plugins in one. Text goes right before and after the question. */
export interface Composed {
  before: string
  after: string
  /** Joined by `+` where several plugins rewrote it. */
  arm: string
  tainted: boolean
  /** Of the first plugin that rewrote it, with the library entries of all. */
  origin: Origin
}

/** A request of a plugin's, to be written with the round. */
export interface Work {
  /** `kind/name`. */
  plugin: string
  request: Request
  /** Instead of what `compose` would do. Checked: a tainted one gives nothing away. */
  rewrite?: Composed
}

/** What a plugin's `extend` sees; the host adds `asked` and `tokensLeft`. */
export interface Landed {
  groups: readonly Group[]
  /** By plugin, by request id, or by `into`. A plugin that is left out has nothing. */
  landed: ReadonlyMap<string, ReadonlyMap<string, Group>>
}

/** One round of the generate side. */
export interface HostRound {
  /** The next prompts by the picker, with the weights of all `weigh` hooks. */
  select(view: SelectView, want: number): Promise<Ask[]>
  /** Groups to write at once so that `want` get done: `want` itself without a flow plugin. */
  oversample(want: number): number
  /** Undefined: as it is. */
  compose(view: ComposeView): Promise<Composed | undefined>
  /** True while a plugin steers or asks for more work. */
  readonly steers: boolean
  readonly extends: boolean
  /** What is left out is kept. */
  steer(live: readonly LiveRollout[], view: SteerView): Promise<Map<string, Steering>>
  /**
   * More work of all plugins, to be written before it is asked again; empty when none has any. Work of one whose tokens
   * are spent is left out.
   */
  extend(landed: Landed, view: BatchView): Promise<Work[]>
  /** The group with the rewards that plugins give it, and the verifier's in `taskReward` where they differ. */
  reward(group: Group): Promise<Group>
  /**
   * What the round's groups become. `groups`: its own asks' first, then what plugins asked for with `keep: 'train'`.
   * Groups of a plugin that is out of the round are dropped before.
   */
  group(groups: readonly Group[], view: BatchView): Promise<Group[]>
  observe(groups: readonly Group[]): Promise<void>
  /** Tokens written for a plugin's work. False when it has none left: the rest of its work is to be cut. */
  spend(plugin: string, tokens: number): boolean
  tokensLeft(plugin: string): number
  /** True for a plugin that failed in this round: its work is to be cut and its groups are dropped. */
  isOut(plugin: string): boolean
}

/** One batch of the train side, from groups to what follows the update. */
export interface HostBatch {
  group(groups: readonly Group[], view: BatchView): Promise<Group[]>
  /** The estimator's, after all `modify` hooks. Throws where the estimator fails. */
  advantage(groups: Group[]): Promise<Advantages>
  /** What the objective's own columns (see its `columns`) are in this batch. */
  columns(advantages: Advantages, groups: readonly Group[]): Promise<Columns>
  /** Texts of roles to learn from, by all plugins. */
  commit(report: CommitReport): Promise<RoleGroup[]>
}

/** Plugins in an evaluation: only those that may act there, on a copy of their state, or themselves where it is `live`. */
export interface HostEvaluation {
  compose(view: ComposeView): Promise<Composed | undefined>
}

/** A plugin's saved state. */
export interface SavedState {
  /** `kind/name`. */
  plugin: string
  /** Of the state's form. */
  version: number
  bytes: Uint8Array
}

/** As the swarm wants it: see its PluginStates. */
export interface SharedStates {
  wanted(): ReadonlyArray<{ name: string; version: number }>
  own(name: string): Promise<Uint8Array | undefined>
  received(name: string, from: string, bytes: Uint8Array): Promise<void>
}

/** What a plugin of the configuration is, for lists. */
export interface PluginFacts {
  kind: PluginKind
  name: string
  summary: string
  needs: readonly Need[]
  slots: readonly Slot[]
  roles: NonNullable<Manifest['roles']>
}

export interface Host {
  readonly objective: Objective
  readonly facts: readonly PluginFacts[]
  /** True where the estimator learns from groups whose rewards are all equal. */
  readonly learnsFromAny: boolean
  /** False where the estimator wants no update of the policy. */
  readonly updates: boolean
  /** True where a plugin may have texts written, which end at strings of its choice. */
  readonly writes: boolean
  /** Loads saved states and opens every plugin. Before it, plugins cannot reach the world. */
  open(world: World, step: number, states?: readonly SavedState[]): Promise<void>
  /** After the node went back to an earlier checkpoint. */
  restore(step: number, states: readonly SavedState[]): Promise<void>
  save(): Promise<SavedState[]>
  round(at: { step: number }): HostRound
  batch(at: { step: number }): HostBatch
  evaluation(at: { step: number }): Promise<HostEvaluation>
  readonly shared: SharedStates
  /** Numbers that plugins recorded since the last call. */
  takeMetrics(): Record<string, number>
  status(): PluginStatus[]
  close(): Promise<void>
}
