// A node's state at one moment: the response to GET /v1/snapshot. Plain JSON; within `v: 1`, fields are only added.
//
// Values that are unknown or do not apply are absent, never zero or invented. Text from peers (names, reasons, agents) is
// untrusted: whatever displays it must use safeText.

import type { TaughtInfo } from '../plugin/teacher.ts'
import type { PhaseInfo } from './phases.ts'
import type { StateWord } from './state-word.ts'

export const API_VERSION = 1

export interface Snapshot {
  v: typeof API_VERSION
  /** When this was taken, ms since the epoch by the node's clock. */
  time: number
  state: StateWord
  /** One line on what the node is doing or waiting for. */
  detail?: string
  /** What has been going on for two seconds or more, most important first. */
  phases?: PhaseInfo[]
  node: NodeInfo
  engine?: EngineInfo
  model?: ModelInfo
  /** The tasks that it trains on. */
  tasks?: TaskInfo[]
  /** What recorded runs of the config's recipe reached; absent without a recipe. */
  recipe?: RecipeInfo
  training?: TrainingInfo
  /** What the policy was trained on and how, oldest first; a new phase begins when that changes. */
  trained?: TrainingPhase[]
  /** Newest last; at most 64, with older ones thinned out. */
  evaluations?: Evaluation[]
  rollouts?: RolloutInfo
  swarm?: SwarmInfo
  /** The exchange of trained weights with peers; absent while it is off. */
  heads?: HeadsInfo
  /** Whether foreign groups hurt; absent until one has arrived. */
  sharing?: SharingInfo
  /** Rollouts of agents; absent unless the gateway is on. */
  agents?: AgentsInfo
  /** Calls that are answered and not trained on; absent unless the node serves. */
  serving?: ServingInfo
  checkpoint?: CheckpointInfo
  machine?: MachineInfo
  /** Absent for a relay. */
  limits?: LimitsInfo
  plugins?: PluginInfo[]
  /** Problems that need attention, newest first. Normally empty. */
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
  /** Why this device was chosen. */
  reason?: string
  threads?: number
}

export interface ModelInfo {
  name: string
  /** The name that its publisher gave it, or that of its folder or file. */
  title?: string
  path?: string
  parameters?: number
  maxCompletionTokens?: number
  policy: PolicyInfo
}

/** How a policy was trained for some steps in a row. */
export interface TrainingPhase {
  /** First and last step. */
  from: number
  to: number
  tasks: { name: string; difficulty?: number; examples?: number }[]
  /** Names of environments. */
  environments?: string[]
  /** Whether it took rollouts of agents. */
  agents?: boolean
  learningRate: number
  /** Of a warm start: how many worked examples it had, and how many supervised steps. */
  workedExamples?: number
  steps?: number
  /** By kind, such as `estimator`. Of a plugin from a file only the file's name. */
  plugins: Record<string, string[]>
}

export interface RecipeInfo {
  name: string
  /** Of runs alone, in order of steps. */
  looks: RecipeLook[]
  /** Config keys that decide what is learnt and differ from the recipe's values. */
  changed: string[]
  /** Whether the recorded runs had another model, so that nothing can be compared. */
  isOtherModel?: boolean
  /** Whether they had other tasks. */
  isOtherTask?: boolean
}

export interface RecipeLook {
  step: number
  /** Sampled held-out accuracy of each run, 0 to 1. */
  sampled: number[]
  /** Held-out questions of each look. */
  questions: number
}

export interface TaskInfo {
  name: string
  difficulty: number
  /** Range of difficulties. Equal if the task has only one. */
  min: number
  max: number
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
  /** Mean reward of the own groups written since the step before. Newest last, at most 240 points. */
  rewardSeries?: SeriesPoint[]
  /** Per task name, share of this node's own recent rollouts that were correct, 0 to 1. */
  taskAccuracy?: Record<string, number>
  loss?: number
  /** Nats per token. */
  entropy?: number
  /** Mismatch KL between sampler and trainer on the sampled tokens, nats per token. */
  mismatchKl?: number
  /** Effective sample size of the importance weights over the number of tokens, 0 to 1. */
  effectiveSampleSize?: number
  /** Share of clipped tokens, 0 to 1. */
  clippedShare?: number
  gradientNorm?: number
  learningRate?: number
  /** Policy versions between sampling and training, over the last batch. */
  staleness?: { p50: number; p95: number }
  /** Since this process started; absent without a value. */
  distributions?: {
    /** Versions that each group of a batch was old. */
    staleness?: Distribution
    /** Tokens of own completions. */
    completionTokens?: Distribution
    /** Seconds that a step trained. */
    stepSeconds?: Distribution
  }
  /** Tokens sampled and trained on since this process started. */
  tokens?: { sampled: number; trained: number }
  /** Own and foreign groups of the last batch (I and J). */
  batch?: { own: number; foreign: number; rollouts: number }
  generateTokensPerSecond?: number
  trainTokensPerSecond?: number
  /** Own groups with a signal that wait to be trained on, and how many make the next batch due. */
  next?: { waiting: number; due: number }
  /** Seconds of the last step by phase, such as generate, verify, train, wait; in order. */
  phases?: Array<{ name: string; seconds: number }>
  /** Mean length of recent own completions, tokens. */
  completionTokens?: number
  /** Share of recent own completions that reached the length limit. */
  truncatedShare?: number
  /** How often each guard has acted since the start, by its name, such as `gradient spike` or `roll-back`. */
  guards?: Record<string, number>
}

/** [ms since the epoch, step, value] */
/** How many values lie above the bound before and at or below each bound; the last count is of those above all. */
export interface Distribution {
  bounds: number[]
  counts: number[]
  sum: number
}

export type SeriesPoint = [time: number, step: number, value: number]

export interface Evaluation {
  time: number
  step: number
  version: number
  /** Sampled held-out accuracy (temperature 1, one answer per prompt), mean over tasks, 0 to 1. */
  accuracy: number
  tasks: Record<string, number>
  /** Greedy accuracy: the most likely answer, at temperature 0. */
  greedy?: { accuracy: number; tasks: Record<string, number> }
  /** Number of different prompts over all tasks. */
  prompts: number
}

export interface RolloutInfo {
  pool: { own: number; foreign: number }
  /** This node's own groups, in the model's whole life. */
  generated: number
  published: number
  /** Of peers, since this process started; so are `verified` and `refused`. */
  received: number
  verified: number
  /**
   * Groups that the model has been trained on in its whole life, and the number of peers that wrote the foreign ones (at
   * most 1024 are told apart). The counts belong to the weights: they continue after a restart, and a roll-back takes
   * them back. A group that is used twice counts twice.
   */
  trainedOwn: number
  trainedForeign: number
  trainedPeers?: number
  /** The same for the last hour. */
  trainedLastHour?: { own: number; foreign: number; peers: number }
  /** Foreign groups refused or dropped, by reason. The reasons are a small fixed set of words. */
  refused: Record<string, number>
  /** Foreign completions left out because this node's tokenizer cannot represent them. */
  droppedTexts?: number
  /** Share of recent own groups with a signal, that is, with different rewards. */
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
  /** The node has left: it is connected to nobody, and shares nothing, until it joins again. */
  hasLeft?: boolean
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
  /** `seen`: found on the local network, but never joined or connected. */
  state: 'mesh' | 'up' | 'down' | 'muted' | 'seen'
  /** How it is connected: directly, by relay or by WebRTC. A direct connection may also say how it was found. */
  how?: 'direct' | 'relay' | 'webrtc' | 'mdns' | 'dht'
  address?: string
  agent?: string
  rttMs?: number
  /** When the last data from it arrived. */
  lastSeen?: number
  version?: number
  /** Same tokenizer, so its token IDs and log-probs can be used. */
  sameTokenizer?: boolean
  received: number
  verified: number
  trained: number
  refused: number
  /** By reason; a small fixed set of words. */
  refusedWhy?: Record<string, number>
  /** Gossip and streams, since this node started. */
  bytesIn?: number
  bytesOut?: number
  score?: number
  /** Mean reward, recomputed by this node. */
  reward?: number
}

/** How a node learns together with peers of its lineage, whose weights it averages with its own. */
export interface HeadsInfo {
  /** Equal on nodes whose weights can be averaged. */
  lineage: string
  /** Bytes of the weights as they are sent. */
  size: number
  /** Since this process started; so are `refused` and the bytes. */
  exchanges: number
  /** Malformed ones. */
  refused: number
  bytesIn: number
  bytesOut: number
  /** Peers whose weights are in this node's, of the last ten minutes. */
  peers: HeadPeer[]
  /** The last time that this node tried weights of peers. */
  trial?: HeadTrial
  /** The trial that is under way. */
  trying?: HeadTrying
  /** Peers whose weights it does not take for a while. */
  out: string[]
  /** The limit on weights, absent if there is none. */
  limit?: WeightsLimit
}

/** A trial of weights on this node's own held-out questions. */
export interface HeadTrial {
  /**
   * caught up: those of a peer that was far ahead. merged: the mean of its own and those of peers that had drifted apart
   * from it, as by training on other tasks.
   */
  how: 'caught up' | 'merged'
  peers: string[]
  /** Held-out accuracy at temperature 1, 0 to 1. */
  before: number
  after: number
  /** Whether it kept them. */
  isTaken: boolean
  /** The task that would have lost too much. */
  fallen?: { task: string; before: number; after: number }
  /** Why the model could not answer with them. */
  failure?: string
  at: number
}

export interface WeightsLimit {
  /** Bytes an hour, up and down each, beyond the local network. */
  mostPerHour: number
  /** Weights that it has kept from coming since this process started. */
  held: number
}

/** A trial goes on beside training. */
export interface HeadTrying extends Pick<HeadTrial, 'how' | 'peers'> {
  /** Of the answers, 0 to 1. */
  fraction: number
}

export interface HeadPeer {
  peer: string
  version: number
  /** Own groups behind its weights, by its own count. */
  groups: number
  /** When its newest weights were averaged, ms since the epoch. */
  at: number
  /** Its weights were so far away that they counted for less. */
  isClipped: boolean
}

export const SHARING_VERDICTS = ['helps', 'hurts', 'no difference', 'not yet known'] as const
export type SharingVerdict = (typeof SHARING_VERDICTS)[number]

/**
 * Whether foreign groups help this node. The node measures the progress made by its own part and by each peer's part
 * of an update, per compute spent on that part.
 */
export interface SharingInfo {
  /**
   * Progress per compute on foreign groups divided by that on own groups, minus 1: 0.5 means 50 % more, 0 the same, -1
   * no progress; below -1, foreign groups undo progress. Absent until it can be computed.
   */
  effect?: number
  /** Ends of the 95 % confidence interval, which is valid at any time. An absent end is unbounded. */
  low?: number
  high?: number
  /** What `effect` measures, in words. */
  unit: string
  /** Paired comparisons since J last changed, and the number needed for a verdict. */
  comparisons: number
  needed: number
  /**
   * Maximum numbers of own and foreign groups in a batch (I and J). J is at most `limit`, and 0 while the verdict is
   * that foreign groups hurt. J leaves an eighth of a batch to own groups.
   */
  own: number
  foreign: number
  limit: number
  verdict: SharingVerdict
  /** The last update: its own groups, its foreign groups, and the number of peers that wrote the latter. */
  last?: { own: number; foreign: number; peers: number }
  /** Share of the node's compute spent on comparisons, 0 to 1. */
  cost: number
  /** At most 32, largest share first. */
  contributors: SharingContributor[]
}

export interface SharingContributor {
  /** Peer ID. */
  peer: string
  /** Share of the recent norm of the foreign gradient, 0 to 1. */
  share: number
  /**
   * Weight of its groups relative to own ones, 0 to 1. It is 1 until they quite surely make less progress for the same
   * compute, then the upper end of an 80 % interval for that ratio.
   */
  weight: number
  effect?: number
  low?: number
  high?: number
  comparisons: number
  /** Why this author has been set aside, if it has. */
  setAside?: string
  /**
   * Whether its rollouts look like those of a policy like this node's. `matched`: they do. `mismatched`: they do not, so they
   * have no weight in a batch and their log-probs are not used. `unknown`: too few were seen.
   */
  likeness: 'matched' | 'mismatched' | 'unknown'
}

/** Calls that belong to no rollout, since the node started. */
export interface ServingInfo {
  /** Where the serving address is; absent if only the agents' gateway answers such calls. */
  listen?: string
  /** The name by which clients ask for the model. */
  model: string
  /** Most tokens of a conversation, prompt and answer together. */
  maxTokens: number
  /** Calls that are being answered, and calls that wait. */
  running: number
  waiting: number
  /** Calls that got an answer, whose client left before that, and that were refused because too many waited. */
  answered: number
  abandoned: number
  refused: number
  /** Tokens of answers. */
  tokens: number
  /** Over the last ten seconds. */
  tokensPerSecond: number
  /** From the latest call to its first token. */
  firstTokenSeconds?: number
}

/** What agents have done through the gateway since the node started. */
export interface AgentsInfo {
  /** Where the gateway listens; absent if the node only plays served environments. */
  listen?: string
  /** Most tokens of a conversation, prompt and answer together, and of the model's context. */
  maxTokens?: number
  modelContext?: number
  /** Environments served by others, with the reason if one cannot be played at present. */
  environments?: Array<{ name: string; trouble?: string }>
  /** Open rollouts. */
  open: number
  /** Groups begun but not yet complete. */
  begun: number
  /** Rollouts that got a reward. */
  rewarded: number
  /** Finished groups and their rows. A rollout whose turns do not form one token sequence has several rows. */
  groups: number
  rows: number
  /** Rollouts that have several rows. */
  split?: number
  /** Answers that nobody got, for example because the client gave up waiting. They are not trained on. */
  undelivered?: { answers: number; tokens: number }
  /** Rollouts that were dropped, by reason. Reasons are a small fixed set of words. */
  dropped: Record<string, number>
  /**
   * Requests with settings that were ignored, and answers that are not what a setting asked for, such as JSON, by the
   * setting's name.
   */
  unkept?: Record<string, number>
  /** Mean of recent rewards in training; `evalReward` is the one in evaluation. */
  reward?: number
  evalReward?: number
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
  /** Processor seconds that this process has used since it started. */
  cpuSeconds?: number
  /** Maximum recent delay of the main thread's event loop. */
  loopLagMs?: number
  device?: {
    name?: string
    utilisation?: number
    memoryUsedBytes?: number
    memoryTotalBytes?: number
    celsius?: number
  }
}

/** Config names of the limits that can hold back a node or its network traffic. */
export const LIMIT_NAMES = [
  'hours',
  'on_battery',
  'celsius',
  'busy_percent',
  'disk_gb',
  'writes_gb_per_day',
  'up_kb_per_second',
  'down_kb_per_second',
  'network_gb_per_month',
] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

export interface LimitHold {
  limit: LimitName
  /** A few words. */
  reason: string
  /** ms since the epoch. */
  since: number
}

/** How the config limits the node's use of its machine. */
export interface LimitsInfo {
  /** The limits holding the node back, longest first. Empty while it may work. */
  holds: LimitHold[]
  /** Cores that it may use on average; absent without a limit. */
  cpuCores?: number
  /** Network use and its limits; training continues even while they hold. Absent without a network. */
  network?: NetworkUse
}

export interface NetworkUse {
  /** Bytes sent and received in this calendar month, across restarts. */
  monthBytes: number
  holds: LimitHold[]
}

export interface PluginInfo {
  kind: string
  name: string
  /** `slow`: recently exceeded its time limit; `failing`: threw or returned an invalid result. */
  state: 'ok' | 'slow' | 'failing' | 'off'
  summary?: string
  /** Mean over recent steps. */
  msPerStep?: number
  strikes?: number
  message?: string
  /** What it does at present, one line each: `taught` in words, of those that are listened to. */
  doing?: string[]
  taught?: TaughtInfo[]
}

export interface Alert {
  time: number
  level: 'notice' | 'warning' | 'failure'
  /** One line. */
  message: string
  /** What to do, if anything. */
  action?: string
  /** Identifies the problem, so that it is shown only once. */
  key: string
}
