// Audits one step of a receipt: fetches the state before it and its batch, computes the step again, and compares. It has no
// loop, no clock and no network. Whatever this node cannot compute for want of a plugin, a task or a setting is
// unauditable, which is no suspicion.

import { type Batch, decodeBatch, type Receipt, type ReceiptStep } from '../../../protocol/wire/index.ts'
import type { Layout } from '../heads/vector.ts'
import type { Evidence } from '../sharing/typicality.ts'
import { type BatchGroupsParts, groupsOf } from './batch-groups.ts'
import { type Difference, differenceOf, excess, isSame, SAME } from './compare.ts'
import { type Method, methodDifference, methodText } from './method.ts'
import type { RecomputedState, StepToRecompute } from './recompute.ts'
import { type FullState, vectorIn } from './state.ts'

export type Verdict =
  /** `isSame`: bit for bit. Otherwise within what other builds and processors differ by. */
  | { outcome: 'passed'; isSame: boolean; difference: Difference; evidence?: Evidence | undefined }
  /** The receipt contradicts itself or, with a `difference`, the step is not what its batch gives. */
  | { outcome: 'failed'; what: string; difference?: Difference }
  | { outcome: 'unauditable'; why: string }
  /** What the receipt names did not come. Nothing is proved. */
  | { outcome: 'unserved'; what: string }

export interface AuditOptions {
  layout: Layout
  /** How this node learns: receipts of other methods are unauditable. */
  method: Method
  /** This node's own learning rate. */
  learningRate: number
  /** Most tokens of a batch: a step of more is not computed again. */
  maxTokens: number
  /** What this node computes with, as receipts say it. */
  build: string
}

export interface AuditParts extends BatchGroupsParts {
  /** Bytes of this SHA-256 and size; undefined if they do not come. */
  bytes(hash: string, size: number): Promise<Uint8Array<ArrayBuffer> | undefined>
  recompute(step: StepToRecompute): Promise<RecomputedState>
  /** Numbers in (0, 1), if it is to be seen where the tokens of the batch lie under the policy. */
  uniform?: (() => number) | undefined
}

/** A rate that is so many times this node's own is another way to learn. Averaging nodes raise it by the root of their number. */
const MAX_RATE = 8

export async function auditStep(
  { receipt, step }: { receipt: Pick<Receipt, 'author' | 'method' | 'build'>; step: ReceiptStep },
  options: AuditOptions,
  parts: AuditParts,
): Promise<Verdict> {
  const { layout, method } = options
  const unauditable = (why: string): Verdict => ({ outcome: 'unauditable', why })
  if (!step.batch) return unauditable(step.closed ?? 'it is closed')
  const own = methodText(method)
  if (receipt.method !== own) return unauditable(methodDifference(receipt.method, own))
  const bytes = await parts.bytes(step.batch.hash, step.batch.size)
  if (!bytes) return { outcome: 'unserved', what: 'the batch' }
  const batch = readBatch(bytes)
  if (!batch) return { outcome: 'failed', what: 'its batch cannot be read' }
  const claim = claimOf(batch, options)
  if (claim) return claim
  const tokens = batch.groups
    .flatMap(({ rollouts }) => rollouts)
    .reduce((sum, one) => sum + one.tokens.length, 0)
  if (tokens > options.maxTokens)
    return unauditable(`its batch of ${tokens} tokens is far larger than this node's`)
  const read = await groupsOf(batch, step, { self: receipt.author }, parts)
  if ('failed' in read) return { outcome: 'failed', what: read.failed }
  if ('unauditable' in read) return unauditable(read.unauditable)
  const before = await fetchState(step.before, layout, parts)
  if (typeof before === 'string') return { outcome: 'unserved', what: before }
  if (!before) return { outcome: 'failed', what: 'the state before it has values that are not finite' }
  const after = await parts.recompute({
    ...{ before, groups: read.groups, settings: batch.settings, self: receipt.author, version: step.version },
    ...{ temperature: method.temperature, aggregation: method.aggregation, uniform: parts.uniform },
  })
  const { evidence } = after
  if (isSame(after, step.after)) return { outcome: 'passed', isSame: true, difference: SAME, evidence }
  const claimed = await fetchState(step.after, layout, parts)
  if (typeof claimed === 'string') return { outcome: 'unserved', what: claimed }
  if (!claimed) return { outcome: 'failed', what: 'the state after it has values that are not finite' }
  const difference = differenceOf(before, after, claimed)
  if (claimed.steps !== after.steps)
    return { outcome: 'failed', what: `it counts ${claimed.steps} steps where there are ${after.steps}` }
  const what = excess(difference)
  if (what === undefined) return { outcome: 'passed', isSame: false, difference, evidence }
  const other = [receipt.build, options.build].find((build) => !MEASURED.test(build))
  if (other !== undefined) return unauditable(`how steps round was not measured where it computes: ${other}`)
  return { outcome: 'failed', what, difference }
}

/** Where the tolerance was measured: processors, and not graphics cards. */
const MEASURED = /\b(onnx on cpu|tfjs on (cpu|wasm))\b/

function readBatch(bytes: Uint8Array): Batch | undefined {
  try {
    return decodeBatch(bytes)
  } catch {
    return undefined
  }
}

/** Settings that no node has, or that this one would not learn by. */
function claimOf({ settings, groups }: Batch, { learningRate, method }: AuditOptions): Verdict | undefined {
  const { optimizer, meanOwn, authors, minibatches } = settings
  const isOdd =
    authors.some(({ weights }) => weights.some((weight) => weight < 0 || weight > 1)) ||
    (meanOwn !== undefined && !(meanOwn.count > 0 && meanOwn.gradientNorm >= 0)) ||
    !(optimizer.maxGradientNorm > 0 && optimizer.learningRate >= 0) ||
    (groups.every(({ author }) => author !== undefined) && meanOwn === undefined)
  if (isOdd) return { outcome: 'failed', what: 'it was made with settings that no node has' }
  if (optimizer.learningRate > MAX_RATE * learningRate)
    return {
      outcome: 'unauditable',
      why: `its learning rate, ${optimizer.learningRate.toPrecision(2)}, is more than ${MAX_RATE} times this node's`,
    }
  const { beta1, beta2, epsilon, weightDecay } = optimizer
  const isOther =
    minibatches !== method.minibatches ||
    beta1 !== method.optimizer.beta1 ||
    beta2 !== method.optimizer.beta2 ||
    epsilon !== method.optimizer.epsilon ||
    weightDecay !== method.optimizer.weightDecay
  return isOther
    ? { outcome: 'unauditable', why: 'its optimizer is another than its method says' }
    : undefined
}

/** Undefined if a value is not finite; a text if something does not come. */
async function fetchState(
  { steps, weights, moments }: ReceiptStep['before'],
  { size }: Layout,
  { bytes }: Pick<AuditParts, 'bytes'>,
): Promise<FullState | string | undefined> {
  const [one, two] = [await bytes(weights, 4 * size), await bytes(moments, 8 * size)]
  if (!one || !two) return 'a state'
  const state = { weights: vectorIn(one, size), moments: vectorIn(two, 2 * size) }
  if (!state.weights || !state.moments) return undefined
  return { steps, weights: state.weights, moments: state.moments }
}
