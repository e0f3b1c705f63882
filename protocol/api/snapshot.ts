// What a node says about itself at one moment: the answer to GET /v1/snapshot. Plain JSON, additive within `v: 1`.
//
// What is not known yet, or does not apply, is left out; it is never invented and never zero instead. Text that came
// from a peer (names, reasons, agents) is untrusted: whoever shows it runs it through safeText.

export const API_VERSION = 1

export const STATES = [
  'STARTING',
  'JOINING',
  'GENERATING',
  'TRAINING',
  /** Does not train: a contact and relay for others. */
  'RELAYING',
  'SYNCING',
  'PAUSED',
  'DEGRADED',
  'STOPPING',
] as const
export type StateWord = (typeof STATES)[number]

export interface Snapshot {
  v: typeof API_VERSION
  /** When this was taken, ms since the epoch by the node's clock. */
  time: number
  state: StateWord
  /** One line on what the node is doing or waiting for. */
  detail?: string
  node: NodeInfo
  engine?: EngineInfo
  model?: ModelInfo
  training?: TrainingInfo
  /** Newest evaluation last; at most 64, thinned out towards the past. */
  evaluations?: Evaluation[]
  rollouts?: RolloutInfo
  swarm?: SwarmInfo
  /** What peers' groups bring this node; absent while the node has never met one. */
  sharing?: SharingInfo
  checkpoint?: CheckpointInfo
  machine?: MachineInfo
  plugins?: PluginInfo[]
  /** What an operator should look at, newest first. Empty is the normal state. */
  alerts?: Alert[]
}

export interface NodeInfo {
  name: string
  peerId: string
  /** Waggle's own version. */
  version: string
  pid: number
  startedAt: number
  home: HomePaths
}

/** Where this node's files are; absolute. */
export interface HomePaths {
  config: string
  state: string
  checkpoints: string
  logs: string
  socket: string
}

export interface EngineInfo {
  kind: string
  device: string
  /** Why this device and not another. */
  reason?: string
  threads?: number
}

export interface ModelInfo {
  name: string
  path?: string
  parameters?: number
  maxCompletionTokens?: number
  policy: PolicyInfo
}

export interface PolicyInfo {
  lineage: string
  tokenizer?: string
  version: number
}

export interface TrainingInfo {
  /** Optimizer steps since the lineage's start. */
  step: number
  /** Mean reward of this node's own recent groups, 0 to 1. */
  reward?: number
  /** Newest last, at most 240 points. */
  rewardSeries?: SeriesPoint[]
  /** Per task name, share of this node's own recent rollouts that were right, 0 to 1. */
  taskAccuracy?: Record<string, number>
  loss?: number
  /** Nats per token. */
  entropy?: number
  /** KL of the trainer from the sampler on the same tokens, nats per token. */
  mismatchKl?: number
  /** Effective sample size of the importance weights over the number of tokens, 0 to 1. */
  effectiveSampleSize?: number
  /** Share of tokens that clipping stopped, 0 to 1. */
  clippedShare?: number
  gradientNorm?: number
  learningRate?: number
  /** Policy versions between sampling and training, over the last batch. */
  staleness?: { p50: number; p95: number }
  /** Groups of the last batch by origin: I and J in SAPO's words. */
  batch?: { own: number; foreign: number; rollouts: number }
  generateTokensPerSecond?: number
  trainTokensPerSecond?: number
  /** Seconds of the last step by phase, such as generate, verify, train, wait; in order. */
  phases?: Array<{ name: string; seconds: number }>
  /** Mean length of recent own completions, tokens. */
  completionTokens?: number
  /** Share of recent own completions that ran into the length limit. */
  truncatedShare?: number
  /** How often each guard has acted since the start, by its name, such as `gradient spike` or `roll-back`. */
  guards?: Record<string, number>
}

/** [ms since the epoch, step, value] */
export type SeriesPoint = [time: number, step: number, value: number]

export interface Evaluation {
  time: number
  step: number
  version: number
  /**
   * Held-out accuracy of the policy as it samples, at temperature 1: what training raises. The mean over tasks of one
   * answer a prompt, 0 to 1.
   */
  accuracy: number
  tasks: Record<string, number>
  /** The same for the most likely answer, at temperature 0. */
  greedy?: { accuracy: number; tasks: Record<string, number> }
  /** Prompts asked over all tasks. */
  prompts: number
}

export interface RolloutInfo {
  pool: { own: number; foreign: number }
  /** This node's own groups since it started. */
  generated: number
  published: number
  received: number
  verified: number
  /** Groups trained on since start; a group that is used twice counts twice. */
  trainedOwn: number
  trainedForeign: number
  /** Foreign groups refused or dropped, by reason. Reasons are a small fixed set of words. */
  refused: Record<string, number>
  /** Single completions of peers that this node's tokenizer cannot represent, and that were left out for it. */
  droppedTexts?: number
  /** Of recent own groups: share with some right and some wrong, which is what learning lives on. */
  signalShare?: number
  allRightShare?: number
  allWrongShare?: number
}

export interface SwarmInfo {
  enabled: boolean
  /** Name of the swarm or of its topic. */
  name?: string
  /** Multiaddrs that others can dial, peer ID included. */
  addresses: string[]
  connected: number
  known?: number
  /** At most 64, connected ones first. */
  peers: PeerInfo[]
  bytesIn?: number
  bytesOut?: number
  reachability?: string
}

export interface PeerInfo {
  id: string
  name: string
  state: 'mesh' | 'up' | 'down' | 'muted'
  /** Which way, while connected: straight, through a relay, by WebRTC; or where it was found, if straight. */
  how?: 'direct' | 'relay' | 'webrtc' | 'mdns' | 'dht'
  address?: string
  agent?: string
  rttMs?: number
  /** When something last came from it. */
  lastSeen?: number
  version?: number
  /** Same weights' lineage, or at least the same tokenizer: its token ids and log-probs can be used. */
  sameTokenizer?: boolean
  received: number
  verified: number
  trained: number
  refused: number
  /** By reason; a small fixed set of words. */
  refusedWhy?: Record<string, number>
  /** By gossip and over streams, since this node started. */
  bytesIn?: number
  bytesOut?: number
  score?: number
  /** Mean reward as this node re-computed it. */
  reward?: number
}

export const SHARING_VERDICTS = ['helps', 'hurts', 'no difference', 'not yet known'] as const
export type SharingVerdict = (typeof SHARING_VERDICTS)[number]

/**
 * Whether foreign groups help this node, as it measures by itself: how far each part of an update, its own groups and
 * each peer's, moves the policy towards what its own earlier rollouts reward, for the compute that the part took.
 */
export interface SharingInfo {
  /**
   * Progress per compute on foreign groups over progress per compute on own ones, minus 1: 0.5 is half as much again, 0
   * the same, -1 nothing at all, below that they push back. Absent until there is something to divide by.
   */
  effect?: number
  /** Ends of the 95 % confidence interval, valid whenever it is looked at; one that is absent is unbounded. */
  low?: number
  high?: number
  /** What `effect` counts, in words. */
  unit: string
  /** Paired comparisons since the share last changed, and how many there must be before a verdict. */
  comparisons: number
  needed: number
  /** Groups that a batch has now: I and J in SAPO's words. J moves between 0 and `limit`, by the verdict and by `weight`. */
  own: number
  foreign: number
  limit: number
  /**
   * What a step takes of the gradient of a peer of whom nothing is known, 0 to 1: progress on all foreign groups over progress
   * on own ones, from a half on.
   */
  weight: number
  verdict: SharingVerdict
  /** Share of the node's compute that went into comparing alone, 0 to 1. */
  cost: number
  /** At most 32, the one with the largest share first. */
  contributors: SharingContributor[]
}

export interface SharingContributor {
  /** Peer ID. */
  peer: string
  /** Of the foreign gradient's recent norm, 0 to 1. */
  share: number
  /** As above, for this peer's groups alone. */
  weight: number
  effect?: number
  low?: number
  high?: number
  comparisons: number
  /** Set aside: not trained on for now, with the reason. */
  setAside?: string
  /** Are its log-probs used to correct for its policy, not there, or no longer believed? */
  logprobs: 'used' | 'none' | 'not believed'
}

export interface CheckpointInfo {
  step: number
  time: number
  path: string
  bytes?: number
}

export interface MachineInfo {
  rssBytes?: number
  freeMemoryBytes?: number
  totalMemoryBytes?: number
  diskFreeBytes?: number
  stateBytes?: number
  /** CPU used by this process, in cores. */
  cpuCores?: number
  /** Worst delay of the main thread's event loop in the last seconds. */
  loopLagMs?: number
  device?: {
    name?: string
    utilisation?: number
    memoryUsedBytes?: number
    memoryTotalBytes?: number
    celsius?: number
  }
}

export interface PluginInfo {
  kind: string
  name: string
  state: 'ok' | 'slow' | 'off'
  summary?: string
  /** Mean over recent steps. */
  msPerStep?: number
  strikes?: number
  message?: string
}

export interface Alert {
  time: number
  level: 'notice' | 'warning' | 'failure'
  /** One line. */
  message: string
  /** What to do, if there is something to do. */
  action?: string
  /** Stays the same while the same thing is wrong, so that it is told once. */
  key: string
}
