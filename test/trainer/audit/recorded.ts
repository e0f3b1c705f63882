// A tiny node that records its steps: a random decoder of 132 characters on the real engine, batches of own and foreign
// groups, and states on a disk in memory. And an auditor of it, with an engine of its own.

import type { Engine } from '../../../daemon/engine/engine.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { createPluginHost, type PluginHost } from '../../../daemon/host/host.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { codecOf } from '../../../daemon/policy/tokens/codec.ts'
import { createBlobs } from '../../../daemon/store/blobs.ts'
import {
  type AuditOptions,
  type AuditParts,
  auditStep,
  type Verdict,
} from '../../../daemon/trainer/audit/audit.ts'
import { createLedger, type Ledger } from '../../../daemon/trainer/audit/ledger.ts'
import { type Method, methodText } from '../../../daemon/trainer/audit/method.ts'
import { recomputeStep } from '../../../daemon/trainer/audit/recompute.ts'
import { createStepRecorder } from '../../../daemon/trainer/audit/recording.ts'
import { joinEpisodes, splitEpisodes } from '../../../daemon/trainer/episodes.ts'
import { layoutOf } from '../../../daemon/trainer/heads/vector.ts'
import { type UpdateOptions, update } from '../../../daemon/trainer/update.ts'
import { PLUGINS } from '../../../daemon/wiring/built-in.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contentId, peerIdOf } from '../../../protocol/wire/index.ts'
import { createLocalEngine } from '../../../scripts/lab/nodes/engine.ts'
import { ADAMW, randomWeights, SPEC } from '../../engine/model.ts'
import { characterTokenizer } from '../../rollout/characters.ts'
import { SimulatedDisk } from '../../store/simulated-disk.ts'

export const spec = { ...SPEC, vocabulary: 132 }
export const layout = layoutOf(spec)
export const BASE = 'a'.repeat(64)
export const INITIAL: Weights = randomWeights(spec, 1)
const tokenizer = characterTokenizer()
const codec = codecOf(tokenizer, spec.vocabulary)

export const even: Task = {
  ...TASKS[0]!,
  name: 'even',
  generate: () => ({ question: 'x', key: 'b', steps: [] }),
  verify: (_, text) => ({ score: (text.codePointAt(0) ?? 1) % 2 === 0 ? 1 : 0, answer: null, found: 'none' }),
}

export const peer = (byte: number): string => peerIdOf(new Uint8Array(32).fill(byte))
export const SELF = peer(1)

export const METHOD: Method = {
  estimator: { use: 'grpo' },
  corrections: [{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }],
  aggregation: { mode: 'token_mean', length: 1 },
  temperature: 1,
  minibatches: 1,
  optimizer: { beta1: ADAMW.beta1, beta2: ADAMW.beta2, epsilon: ADAMW.epsilon, weightDecay: 0 },
  tokenizer: tokenizer.digest,
  examples: {},
}
export const RATE = 1e-2
export const BUILD = 'waggle 1, onnx on cpu, linux x64'

export function openPlugins({
  estimator,
  corrections,
}: Pick<Method, 'estimator' | 'corrections'> = METHOD): Promise<PluginHost> {
  return createPluginHost(
    {
      estimator: estimator as { use: string },
      corrections: corrections as { use: string }[],
      selector: { use: 'uniform' },
      seed: 0,
    },
    {
      builtIn: PLUGINS,
      importPlugin: () => Promise.reject(new Error('no files here')),
      ...{ now: () => 0, sleep: () => new Promise(() => {}), log() {}, onTrouble() {} },
    },
  )
}

/** Four answers to one prompt, some right and some not, with log-probs near the policy's. */
export function groupBy(author: string, seed: number, version = 3): Group {
  const random = randomStream(seed, `group of ${author}`)
  const rollouts = [0, 1, 0, 1].map((right) => {
    const length = 1 + Math.floor(5 * random())
    const text = String.fromCharCode(
      64 + 2 * Math.floor(20 * random()) + right,
      ...Array.from({ length }, () => 40 + Math.floor(80 * random())),
    )
    const tokens = tokenizer.encodeCompletion(text, 'stop')
    return {
      ...{ text, tokens, finish: 'stop' as const, reward: 1 - right },
      behaviourLogprobs: Float32Array.from(tokens, () => -4 - 2 * random()),
      entropies: Float32Array.from(tokens, () => 4 + random()),
      segments: [{ version, start: 0, length: tokens.length }],
    }
  })
  const prompt = { task: 'even', taskVersion: even.version, seed, difficulty: even.difficulty.min }
  return {
    id: contentId(
      prompt,
      rollouts.map(({ text }) => text),
    ),
    ...{ prompt, rollouts, author, arm: 'base', bornAt: 7, bornVersion: version },
    conditioning: tokenizer.encodePrompt('x'),
    policy: { lineage: BASE, tokenizer: tokenizer.digest, version },
  }
}

/** Adds a share of the distance from the first weights, as a scaled step would. */
export function addTo(weights: Weights, share: number): void {
  for (const [name, values] of Object.entries(weights))
    for (let i = 0; i < values.length; i++) values[i]! += share * (values[i]! - INITIAL[name]![i]!)
}

export interface Recorded {
  ledger: Ledger
  engine: Engine
  troubles: unknown[]
}

export interface Play {
  /** What a warm start made of the first weights. */
  from?: Weights
  steps?: number
  threads?: number
  minibatches?: number
  /** Whose groups are in the batches, in order; SELF for own ones. */
  authors?: readonly string[]
  /** What is done to the weights after a step, unknown to the receipt: forged. */
  forge?(step: number, weights: Weights): void
  /** To a group, before the step. */
  groupOf?(author: string, seed: number): Group
  disk?: SimulatedDisk
  maxBytes?: number
  learningRate?: number
  /** Computes the steps; a new one if left out. */
  engine?: Engine
}

/** Plays steps and records them as a node does. */
export async function play({
  from = INITIAL,
  steps = 3,
  threads = 1,
  minibatches = 1,
  authors = [SELF, SELF, peer(2), peer(3), peer(2)],
  forge,
  groupOf = groupBy,
  disk = new SimulatedDisk(),
  maxBytes,
  learningRate = RATE,
  engine = createLocalEngine({ threads }),
}: Play = {}): Promise<Recorded> {
  await engine.open({ spec, weights: from })
  const blobs = createBlobs({ directory: '/audits' }, { disk })
  const ledger = createLedger({ values: layout.size, ...(maxBytes && { maxBytes }) }, { blobs })
  const troubles: unknown[] = []
  // A liar's engine says other weights than its steps gave.
  let lie: Weights | undefined
  const trainer = {
    weights: async () => lie ?? (await engine.weights()),
    optimizer: engine.optimizer,
    info: engine.info,
  }
  const recorder = createStepRecorder(
    { layout },
    { trainer, keep: ledger.add, onTrouble: (error) => void troubles.push(error) },
  )
  const plugins = await openPlugins()
  for (let step = 0; step < steps; step++) {
    const groups = authors.map((author, i) => groupOf(author, 100 * step + i))
    const batch = plugins.batch({ step })
    const advantages = splitEpisodes(await batch.advantage(joinEpisodes(groups)), groups)
    const options: UpdateOptions = {
      ...{ temperature: 1, minibatches, aggregation: METHOD.aggregation, self: SELF, lineage: BASE },
      optimizer: { ...ADAMW, learningRate, maxGradientNorm: 0.5 },
      ...{ version: 3 + step, learnForeign: true, compare: false },
      columns: await batch.columns(advantages, groups),
      isBelieved: (author) => author !== peer(3),
      earnedWeight: (author, report) => (author === peer(3) ? undefined : report ? 0.7 : 0.9),
      ...(step > 0 && { meanOwn: { gradientNorm: 0.3, count: 9.5 } }),
    }
    lie = undefined
    await recorder.record(
      { groups, options, random: randomStream(step, 'minibatches'), changes: 1000 * step, closed: undefined },
      async (given, random) => {
        const report = await update(groups, advantages, given, {
          engine,
          objective: plugins.objective,
          random,
        })
        if (forge) {
          const weights = await engine.weights()
          forge(step, weights)
          lie = weights
        }
        return report
      },
    )
    // The next step begins with what was said.
    if (lie) await engine.setWeights(lie)
  }
  await plugins.close()
  return { ledger, engine, troubles }
}

export interface Auditing {
  threads?: number
  method?: Method
  /** What the receipt says. */
  claimed?: Method
  build?: string
  maxTokens?: number
  tasks?: readonly Task[]
  learningRate?: number
  bytes?: AuditParts['bytes']
  uniform?: AuditParts['uniform']
  engine?: Engine
  /** Of the method; new ones if left out. */
  plugins?: PluginHost
}

/** What a node with these tasks audits with. */
export function auditing({
  engine,
  plugins,
  tasks = [even],
}: {
  engine: Engine
  plugins: PluginHost
  tasks?: readonly Task[]
}): Omit<AuditParts, 'bytes'> {
  return {
    findTask: (name, version) => tasks.find((one) => one.name === name && one.version === version),
    encodePrompt: codec.encodePrompt,
    decode: (tokens) => tokenizer.decodeCompletion(tokens),
    pause: async () => {},
    recompute: (one) =>
      recomputeStep(one, { engine, spec, layout, base: BASE, frozen: {}, initial: INITIAL, plugins }),
  }
}

/** Audits a step of what was recorded, as a node with these tasks and this method. */
export async function audit(
  { ledger }: Pick<Recorded, 'ledger'>,
  step: number,
  {
    threads = 1,
    method = METHOD,
    claimed = METHOD,
    tasks = [even],
    learningRate = RATE,
    bytes,
    build = BUILD,
    maxTokens = 10_000,
    ...more
  }: Auditing = {},
): Promise<Verdict> {
  const engine = more.engine ?? createLocalEngine({ threads })
  const plugins = more.plugins ?? (await openPlugins(method))
  const options: AuditOptions = { layout, method, learningRate, build: BUILD, maxTokens }
  try {
    return await auditStep(
      { receipt: { author: SELF, method: methodText(claimed), build }, step: ledger.offer()!.steps[step]! },
      options,
      {
        ...auditing({ engine, plugins, tasks }),
        uniform: more.uniform,
        bytes: bytes ?? (async (hash) => ledger.bytes(hash)),
      },
    )
  } finally {
    if (!more.plugins) await plugins.close()
    if (!more.engine) await engine.close()
  }
}
