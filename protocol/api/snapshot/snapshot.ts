// A node's state at one moment: the response to GET /v1/snapshot. Plain JSON; within `v: 1`, fields are only added.
//
// Values that are unknown or do not apply are absent, never zero or invented. Text from peers (names, reasons, agents) is
// untrusted: whatever displays it must use safeText.

import type { PhaseInfo } from '../phases.ts'
import type { StateWord } from '../state-word.ts'
import type { HeadsInfo } from './heads.ts'
import type { LimitsInfo, MachineInfo } from './machine.ts'
import type { Alert, CheckpointInfo, EngineInfo, ModelInfo, NodeInfo, PluginInfo, TaskInfo } from './node.ts'
import type { AgentsInfo, ServingInfo } from './serving.ts'
import type { SharingInfo } from './sharing.ts'
import type { RolloutInfo, SwarmInfo } from './swarm.ts'
import type { Evaluation, RecipeInfo, TrainingInfo, TrainingPhase } from './training.ts'

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
