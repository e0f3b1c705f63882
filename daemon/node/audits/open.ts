// Connects audits to the config, the models and the plugins: how this node learns.

import { join } from 'node:path'
import { VERSION } from '../../../protocol/package.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import { createBlobs } from '../../store/blobs.ts'
import { type Disk, explainErrno } from '../../store/disk.ts'
import type { Log } from '../../store/log.ts'
import type { Swarm } from '../../swarm/index.ts'
import { createAuditBudget } from '../../trainer/audit/budget.ts'
import { createLadder } from '../../trainer/audit/ladder.ts'
import { stepsHeld } from '../../trainer/audit/ledger.ts'
import type { Method } from '../../trainer/audit/method.ts'
import { createOwnHeads } from '../../trainer/audit/own-heads.ts'
import { bytesOf, firstState, vectorIn } from '../../trainer/audit/state.ts'
import { layoutOf, toVector, type Vector } from '../../trainer/heads/vector.ts'
import type { Odds } from '../../trainer/sharing/typicality.ts'
import { TASKS } from '../../wiring/built-in.ts'
import { hostOptions } from '../../wiring/plugin-config.ts'
import { optimizerOf } from '../core.ts'
import type { Models } from '../policy/models.ts'
import { createNodeAudits, type NodeAudits } from './audits.ts'
import type { AuditsParts } from './contract.ts'
import type { LadderRecord } from './ladder-record.ts'
import { createProofs } from './proofs.ts'
import { recomputer } from './recomputer.ts'

interface OpenAuditsOptions {
  settings(): Config
  paths: Pick<Paths, 'audits' | 'config' | 'plugins'>
  self: string
  /** The receipt in the checkpoint that the node continues. */
  restored: Uint8Array | undefined
  /** CPU threads of an audit. */
  threads: number
  /** Strangers that an earlier run followed. */
  climbers: LadderRecord
}

interface OpenAuditsParts extends Pick<AuditsParts, 'signer' | 'phases' | 'random' | 'now' | 'monotonic'> {
  swarm(): Swarm | undefined
  policy: LivePolicy
  models: Pick<Models, 'model' | 'plan'>
  /** All tasks that this node could train on. */
  known: readonly Task[]
  disk: Disk
  log: Log
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** See Learner. */
  odds(): Odds
  /** Of this process since its start. */
  processorSeconds(): number
  /** Whether limits allow writing what the user did not ask for. */
  mayWrite(): boolean
}

/** A batch so many times as large as this node's own may be is not computed again. */
const LARGER = 8

export function openAudits(
  { settings, paths, self, restored, threads, climbers }: OpenAuditsOptions,
  { policy, models, known, disk, log, sleep, mayWrite, odds, processorSeconds, ...parts }: OpenAuditsParts,
): NodeAudits {
  const { model } = models
  const layout = layoutOf(policy.spec)
  const builtIn = new Set(TASKS.map(({ name }) => name))

  const methodOf = (): Method => {
    const config = settings()
    const { estimator, corrections } = hostOptions(config, known)
    const { beta1, beta2, epsilon, weightDecay } = optimizerOf(config)
    return {
      ...{ estimator, corrections, temperature: config.rollout.temperature },
      aggregation: { mode: config.training.aggregation, length: config.model.max_completion_tokens },
      minibatches: config.training.minibatches,
      optimizer: { beta1, beta2, epsilon, weightDecay },
      tokenizer: model.tokenizer.digest,
      examples: Object.fromEntries(
        config.tasks.flatMap(({ name, examples = 0 }) => (examples > 0 ? [[name, examples]] : [])),
      ),
    }
  }

  const budget = createAuditBudget({}, { processorSeconds, random: parts.random })
  const recompute = recomputer(
    { settings, paths, threads },
    { policy, models, known, budget, monotonic: parts.monotonic, sleep, log },
  )

  const warn = (message: string): void => log('warn', message)
  const origin = (): Vector => toVector(layout, policy.initial)
  const ownHeads = createOwnHeads({ origin })
  for (const bytes of climbers.heads) ownHeads.add(bytes)
  const ladder = createLadder(
    { first: firstState(layout, origin()), restored: climbers.climbers, most: stepsHeld(layout.size) },
    {
      hasHead: ownHeads.has,
      warmStart: () => climbers.warmStart,
      odds,
      random: parts.random,
      onChange: climbers.save,
    },
  )

  return createNodeAudits(
    {
      ...{ layout, self, restored, lineage: policy.lineage },
      isOn: () => settings().swarm.audits && mayWrite(),
      follows: () => settings().swarm.weights === 'audited',
      method: methodOf,
      learningRate: () => settings().training.learning_rate,
      maxTokens() {
        const { training, rollout, model: asked } = settings()
        return LARGER * training.batch_groups * rollout.group_size * asked.max_completion_tokens
      },
      build: () => buildText(policy.trainer.info),
      auditor: () => buildText({ kind: settings().engine.kind, device: 'cpu' }),
    },
    {
      ...parts,
      ...{ policy, ladder, ownHeads, budget },
      ...keptIn(climbers, { size: layout.size, mayWrite, warn }),
      blobs: createBlobs({ directory: paths.audits }, { disk }),
      proofs: createProofs({
        ...{ swarm: parts.swarm, mayWrite, monotonic: parts.monotonic, log: warn },
        blobs: createBlobs({ directory: join(paths.audits, 'proofs') }, { disk }),
      }),
      findTask: (name, version) =>
        builtIn.has(name) ? known.find((one) => one.name === name && one.version === version) : undefined,
      encodePrompt: model.tokenizer.encodePrompt,
      decode: (tokens) =>
        tokens.every((token) => token < policy.spec.vocabulary)
          ? model.tokenizer.decodeCompletion(tokens)
          : undefined,
      pause: () => new Promise(setImmediate),
      recompute,
      log: warn,
    },
  )
}

function buildText({ kind, device }: { kind: string; device: string }): string {
  return `waggle ${VERSION}, ${kind} on ${device}, ${process.platform} ${process.arch}`
}

/** What a kill must not cost; where it cannot be written, audits go on without. */
function keptIn(
  record: LadderRecord,
  { size, mayWrite, warn }: { size: number; mayWrite(): boolean; warn(message: string): void },
): Pick<AuditsParts, 'keepHead' | 'warmStart' | 'keepWarmStart'> {
  const tryTo = async (write: () => Promise<void>, what: string): Promise<void> => {
    if (mayWrite()) await write().catch((error) => warn(`${what} was not kept: ${explainErrno(error)}`))
  }
  return {
    keepHead: (head, names) => tryTo(() => record.keep(head, names), 'a head'),
    keepWarmStart: (weights) =>
      tryTo(() => record.begun(bytesOf(weights)), 'what the warm start made, for audits of strangers,'),
    async warmStart() {
      const bytes = await record.warmStartWeights()
      return bytes && vectorIn(bytes, size)
    },
  }
}
