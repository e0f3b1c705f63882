// A stranger's steps as a chain: each begins with a state that is known, or with one that follows from it by averaging
// in heads that this node has. A chain begins with empty moments and the first values of the lineage, which every node
// has, or the end of a warm start: all nodes with the same model, tasks and settings make the same one, up to rounding.
// Data in, data out.

import type { Receipt, ReceiptStep, StateHashes } from '../../../protocol/wire/index.ts'
import { addDifference, distance, type Vector } from '../heads/vector.ts'
import { bytesOf, hashOf } from './state.ts'

/** A step that is new in a chain. */
export interface ChainStep {
  step: ReceiptStep
  /** The known state from which the step's state before follows, if heads were averaged in between. */
  from?: StateHashes
}

export type Reading = { steps: readonly ChainStep[] } | { broken: string }

/** Shares that may be added between two steps: standing where a peer stands, and one average. */
const MOST_SHARES = 2
/** Two warm starts, of what one moved. With other threads or micro-batches they were 7e-6 apart after 40 steps. */
const MOST_APART = 0.01

export const keyOf = ({ steps, weights, moments }: StateHashes): string => `${steps} ${weights} ${moments}`

/** The receipt's steps that no known state is the end of. `hasHead`: whether this node still has the head of that hash. */
export function readChain(
  { steps }: Pick<Receipt, 'steps'>,
  known: readonly StateHashes[],
  hasHead: (hash: string) => boolean,
): Reading {
  const states = new Map(known.map((state) => [keyOf(state), state]))
  const found: ChainStep[] = []
  for (const step of steps) {
    const { before, after, joined, version } = step
    if (states.has(keyOf(after))) continue
    if (step.closed !== undefined)
      return { broken: `nobody else can compute step ${version}: ${step.closed}` }
    if (states.has(keyOf(before))) found.push({ step })
    else {
      const from = [...states.values()]
        .reverse()
        .find((state) => state.moments === before.moments && state.steps === before.steps)
      if (!from) return { broken: `step ${version} begins with a state that this node does not know` }
      const problem = problemOf(joined, hasHead)
      if (problem) return { broken: `before step ${version}, ${problem}` }
      found.push({ step, from })
    }
    for (const state of [before, after]) states.set(keyOf(state), state)
  }
  return { steps: found }
}

function problemOf(joined: ReceiptStep['joined'], hasHead: (hash: string) => boolean): string | undefined {
  const shares = joined.map(({ added }) => added?.share ?? Number.NaN)
  const sum = shares.reduce((a, b) => a + b, 0)
  if (joined.length === 0) return 'its weights were replaced'
  if (!shares.every((share) => share > 0 && share <= 1) || sum > MOST_SHARES)
    return 'its receipt does not say how heads were averaged in'
  if (!joined.every(({ hash }) => hasHead(hash))) return 'heads were averaged in that this node does not have'
  return undefined
}

export interface LinkParts {
  /** Weights by their SHA-256. Undefined if they do not come. */
  weights(hash: string): Promise<Vector | undefined>
  /** A head that this node has, as weights. */
  head(hash: string): Vector | undefined
  /** Whether the chain has these weights, so that a head may have been compared with them. */
  isKnown(weights: string): boolean
}

/** Undefined if the state before the step follows from the one before, to the bit; else why it does not. */
export async function checkLink(
  { step, from }: ChainStep,
  { weights, head, isKnown }: LinkParts,
): Promise<string | undefined> {
  if (!from) return undefined
  const sum = (await weights(from.weights))?.slice()
  if (!sum) return 'the weights before the average do not come'
  /** The average goes on from weights of its own where several heads came one after another. */
  const between = new Map<string, Vector>()
  for (const { hash, added } of step.joined) {
    const theirs = head(hash)
    const { share, beside } = added!
    const compared = between.get(beside) ?? (isKnown(beside) ? await weights(beside) : undefined)
    if (!theirs || !compared) return 'a head was compared with weights that do not come'
    addDifference(sum, share, theirs, compared)
    between.set(hashOf(bytesOf(sum)), sum.slice())
  }
  return hashOf(bytesOf(sum)) === step.before.weights
    ? undefined
    : 'its weights are not the average that it names'
}

/** The state in the receipt that a run begins with, if that is not `first`, the state of version 0. */
export function beginningIn({ steps }: Pick<Receipt, 'steps'>, first: StateHashes): StateHashes | undefined {
  return steps
    .filter(({ joined }) => joined.length === 0)
    .map(({ before }) => before)
    .find(
      ({ steps: count, moments, weights }) =>
        count === 0 && moments === first.moments && weights !== first.weights,
    )
}

export interface BeginningParts {
  /** Weights by their SHA-256. Undefined if they do not come. */
  weights(hash: string): Promise<Vector | undefined>
  /** What this node's own warm start made; undefined if it had none. */
  own: Vector | undefined
  /** The first values of the lineage. */
  origin: Vector
}

/** Undefined if a run that this node has reason to follow may begin with these weights; else why not. */
export async function checkBeginning(
  { weights: hash }: StateHashes,
  { weights, own, origin }: BeginningParts,
): Promise<string | undefined> {
  if (!own) return 'it began with a warm start, which this node did not make'
  const theirs = await weights(hash)
  if (!theirs) return 'the weights that it began with do not come'
  const apart = distance(theirs, own) / distance(own, origin)
  return apart <= MOST_APART
    ? undefined
    : `it began with other weights than this node's warm start made (${Math.round(100 * apart)} % of the way apart)`
}
