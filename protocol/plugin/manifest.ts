// What a plugin declares about itself, so that a configuration can be checked before anything starts: what it
// needs from the node, which exclusive slot it takes, which plugins it conflicts with, and what it may spend.

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

/** Slots that only one plugin of a configuration may take. */
export const SLOTS = {
  picker: 'chooses the prompts outright',
  estimator: 'turns rewards into advantages',
  loss: 'gives the per-token loss',
  flow: 'parks and cuts rollouts while they are being written',
  hinted: 'replaces all-wrong groups by hinted ones',
} as const
export type Slot = keyof typeof SLOTS

export interface Conflict {
  /** `kind/name`, or only a kind. */
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
  /** Tokens for generation per round, beyond the round's own rollouts. Default 0. */
  tokens?: number
  /** Wall-clock milliseconds per hook call, without the time spent waiting for the engine. Default 10 000. */
  hookMs?: number
  /** Largest saved state. Default 4 MiB. */
  stateBytes?: number
}

export interface Role {
  /** Such as `hinter`: a separate model beside the policy. */
  name: string
  trainable: boolean
}

export interface Manifest<Settings = unknown> {
  /** Lower runs first within a hook; default 0. Ties follow the order in the configuration. */
  order?: number
  needs?: readonly Need[]
  claims?: readonly Slot[]
  conflicts?: readonly Conflict[]
  /** Plugins that must also be configured. */
  requires?: readonly Requirement[]
  /** What it may spend, given its settings. */
  budget?(settings: Settings): Budget
  roles?: readonly Role[]
  /** What it does in evaluation: nothing (default), use its library unchanged, or keep learning. */
  testTime?: 'never' | 'frozen' | 'live'
  /** `any` if the estimator also learns from groups of equal rewards, which are otherwise dropped. */
  signal?: 'mixed' | 'any'
  /** False for an estimator that does not train the policy; learning then happens in plugins' state. */
  update?: false
  /** Version of the format of `save` and `share`; state of other versions is not loaded. Default 1. */
  stateVersion?: number
}
