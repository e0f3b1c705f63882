// What a plugin says about itself, so that a configuration can be checked as a whole before anything starts: what it
// needs of the node, which exclusive place it takes, whom it cannot stand beside, and what it may spend.

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

/** What a node may lack. */
export const NEEDS = {
  privileged: 'reference solutions of the tasks, for training prompts',
  score: 'log-probs and hidden states of given tokens under the policy',
  recurring: 'prompts that come back: a fixed set of them (rollout.prompts)',
  park: 'an engine that ends single sequences and continues them later',
  episodes: 'a task with turns',
} as const
export type Need = keyof typeof NEEDS

/** Places that one plugin of a configuration may take. */
export const SLOTS = {
  picker: 'chooses the prompts outright',
  estimator: 'turns rewards into advantages',
  loss: 'gives the per-token loss',
  flow: 'parks and cuts what is being written',
  hinted: 'replaces groups that are all wrong by hinted ones',
} as const
export type Slot = keyof typeof SLOTS

export interface Conflict {
  /** `kind/name`, or a kind alone. */
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
  /** Tokens that it may have generated beyond the round's own rollouts, per round. 0 if left out. */
  tokens?: number
  /** Wall-clock milliseconds of one hook, less what it waits for the engine. 10 000 if left out. */
  hookMs?: number
  /** Of its saved state. 4 MiB if left out. */
  stateBytes?: number
}

export interface Role {
  /** Such as `hinter`: a model of its own beside the policy. */
  name: string
  trainable: boolean
}

export interface Manifest<Settings = unknown> {
  /** Lower runs first within a hook; 0 if left out, and ties go by the order in the configuration. */
  order?: number
  needs?: readonly Need[]
  claims?: readonly Slot[]
  conflicts?: readonly Conflict[]
  /** Plugins that must be configured beside it. */
  requires?: readonly Requirement[]
  /** What it may spend with these settings. */
  budget?(settings: Settings): Budget
  roles?: readonly Role[]
  /** Whether it may act in evaluation: not at all (the default), with its library as it is, or learning on. */
  testTime?: 'never' | 'frozen' | 'live'
  /** `any` if the estimator learns from groups whose rewards are all equal, which are dropped else. */
  signal?: 'mixed' | 'any'
  /** False for an estimator under which the policy is not trained: what is learnt is in the plugins' own state. */
  update?: false
  /** Of what `save` and `share` write: raised when its form changes. A state of another version is not loaded. 1 if left out. */
  stateVersion?: number
}
