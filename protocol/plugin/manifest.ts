// What a plugin declares about itself: what it needs from the node, which exclusive slots it takes, which plugins
// it conflicts with, and its budget. This lets a configuration be checked before anything starts.

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

/** Capabilities that a node may lack. */
export const NEEDS = {
  privileged: 'reference solutions of the tasks, for training prompts',
  score: 'log-probs and hidden states of given tokens under the policy',
  recurring: 'recurring prompts: a fixed set of them (rollout.prompts)',
  park: 'an engine that can interrupt single sequences and continue them later',
  episodes: 'a task with turns',
} as const
export type Need = keyof typeof NEEDS

/** Exclusive slots: at most one plugin of a configuration may take each. */
export const SLOTS = {
  picker: 'chooses the prompts outright',
  estimator: 'turns rewards into advantages',
  loss: 'gives the per-token loss',
  flow: 'parks and cuts rollouts while they are being written',
  hinted: 'replaces all-wrong groups by hinted ones',
  teacher: 'scores the answers, for the divergence from a teacher',
} as const
export type Slot = keyof typeof SLOTS

export interface Conflict {
  /** `kind/name`, or just a kind. */
  with: string
  /** Completes "cannot be used with X: ". */
  because: string
}

export interface Requirement {
  /** `kind/name`. */
  plugin: string
  /** Completes "needs X: ". */
  because: string
}

export interface Budget {
  /** Tokens to generate per round, beyond the round's own rollouts. Default 0. */
  tokens?: number
  /** Wall-clock milliseconds per hook call, excluding time spent waiting for the engine. Default 10 000. */
  hookMs?: number
  /** Maximum size of the saved state, in bytes. Default 4 MiB. */
  stateBytes?: number
}

export interface Role {
  /** A separate model beside the policy, such as `hinter`. */
  name: string
  trainable: boolean
}

export interface Manifest<Settings = unknown> {
  /** The name that it had in the last version: configs and saved states may still use it. */
  formerly?: string
  /** Within a hook, plugins with a lower order run first; default 0. Ties follow the configuration's order. */
  order?: number
  needs?: readonly Need[]
  claims?: readonly Slot[]
  conflicts?: readonly Conflict[]
  /** Plugins that must also be configured. */
  requires?: readonly Requirement[]
  /** The plugin's budget, given its settings. */
  budget?(settings: Settings): Budget
  roles?: readonly Role[]
  /** Models that it asks as teachers, given its settings, as `model.path` names them. They are loaded at the start. */
  teachers?(settings: Settings): readonly string[]
  /** In evaluation the plugin is off (default), uses its library unchanged, or keeps learning. */
  testTime?: 'never' | 'frozen' | 'live'
  /** `any` if the estimator also learns from groups whose rewards are all equal; otherwise these are dropped. */
  signal?: 'mixed' | 'any'
  /** False for an estimator that never updates the policy; learning then happens only in plugins' state. */
  update?: false
  /** Format version of the state from `save` and `share`; state of other versions is not loaded. Default 1. */
  stateVersion?: number
}
