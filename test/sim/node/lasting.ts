// What a simulated node keeps over all its lives: its key and options, the world around it, what troubles it, and the
// checks that know what it has promised.

import { type Config, configSchema } from '../../../daemon/config/schema.ts'
import type { LevelStore } from '../../../daemon/store/database/database.ts'
import type { Pool } from '../../../daemon/store/pool/pool.ts'
import type { Exchange } from '../../../daemon/swarm/exchange.ts'
import type { SimulatedDisk } from '../../store/simulated-disk.ts'
import { AUDIT_SECONDS } from '../audits.ts'
import { type Checks, createChecks, type Truth } from '../checks.ts'
import { identityFrom, type Signatures } from '../identity.ts'
import type { Net } from '../net.ts'
import { MAX_TOKENS } from '../policy.ts'
import type { Random, World } from '../world.ts'
import type { DiskTrouble } from './disk.ts'

export const config: Config = configSchema.parse({
  rollout: { group_size: 4, groups_per_round: 2 },
  model: { max_completion_tokens: MAX_TOKENS },
  training: { batch_groups: 2, max_peer_groups: 4, learning_rate: 0.005, warm_up_steps: 0 },
  checkpoint: { every_steps: 5 },
  eval: { every_seconds: 0, prompts_per_task: 4 },
})

/** Faults that are built in on purpose, to see whether the checks find them. */
export interface Planted {
  /** Put between the daemon and its disk, or its parts. */
  disk?(disk: SimulatedDisk): void
  level?(level: LevelStore): LevelStore
  exchange?(exchange: Exchange): void
  pool?(pool: Pool): Pool
  /** The skill that it says a step has led to. */
  forge?: Forge
}

export type Forge = (step: { before: number; after: number; time: number; random: Random }) => number

export interface NodeOptions {
  name: string
  /** Peers that a person joined. */
  joined?: ReadonlySet<string>
  planted?: Planted
  signatures: Signatures
  settings?: Config
  /** Nobody is trusted but by `settings.swarm.trust`. */
  isPublic?: boolean
  /** Processor time of an audit. */
  auditSeconds?: number
}

/** What a simulation may change at any time. */
interface Weather {
  disk: DiskTrouble | undefined
  /** Probability that the model gives NaN, and that the engine fails. */
  nan: number
  fails: number
  /** How often the model gave NaN. */
  nans: number
  /** ms that its clock is ahead of the world's. */
  skew: number
  /** Its work takes this many times as long. */
  slowness: number
  /** Probability that a verifier takes too long. */
  verifier: number
  /** It dies before the disk operation, or in the engine call, with this number, counted from now. */
  stepsToLive: number
  callsToLive: number
}

export interface Around {
  world: World
  net: Net
  truth: Truth
}

export interface Lasting extends Required<NodeOptions>, Around {
  self: string
  identity: ReturnType<typeof identityFrom>
  random: Random
  headRandom: Random
  auditRandom: Random
  checks: Checks
  weather: Weather
  /** Over all lives: of own groups, and of groups that were scored to get to know their authors. */
  tokens: { own: number; introductions: number }
  /** Bits of its disk have changed since it last started. */
  isDamaged: boolean
  kill(isPower: boolean): void
}

export function lastingOf(options: NodeOptions, around: Around): Omit<Lasting, 'kill'> {
  const { name, signatures, settings = config } = options
  const { world, truth } = around
  const random = world.random(`node ${name}`)
  const identity = identityFrom(random, signatures)
  const self = identity.peerId
  truth.honest.add(self)
  truth.wrote.set(self, new Set())
  truth.heads.set(self, new Set())
  return {
    ...{ joined: new Set<string>(), planted: {}, isPublic: false, auditSeconds: AUDIT_SECONDS },
    ...options,
    ...around,
    ...{ settings, self, identity, random },
    headRandom: world.random(`heads of ${name}`),
    auditRandom: world.random(`audits of ${name}`),
    checks: createChecks({ name, self, maxStaleness: settings.training.max_staleness }, { world, truth }),
    weather: {
      ...{ disk: undefined, nan: 0, fails: 0, nans: 0, skew: 0, slowness: 1, verifier: 0 },
      ...{ stepsToLive: Number.POSITIVE_INFINITY, callsToLive: Number.POSITIVE_INFINITY },
    },
    tokens: { own: 0, introductions: 0 },
    isDamaged: false,
  }
}
