// How far a model moved between two of its checkpoints, relative to the norm of its weights. An adapter's two factors say
// little by themselves: their product, scaled, is what moves the matrix under them.

import { WaggleError } from '../../protocol/errors.ts'
import { type AdapterSpec, adapterNames } from '../engine/decoder.ts'
import type { Disk } from '../store/disk.ts'
import type { WeightSource } from './files/model-files.ts'
import type { Weights } from './safetensors/read.ts'
import { openTrained } from './trained.ts'

export interface Movement {
  /**
   * What changed: all weights, the matrices under an adapter, or the adapter's own factors if the matrices are not at
   * hand.
   */
  of: 'weights' | 'matrices' | 'factors'
  whole: number
  /** The most changed first. */
  tensors: { name: string; change: number }[]
}

/** Squares of norms. */
interface Moved {
  name: string
  difference: number
  size: number
}

interface Saved {
  folder: string
  adapter?: AdapterSpec
}

/** One side of a comparison. */
interface Side {
  weights: Weights
  /** alpha / rank of its adapter. */
  scale: number
}

export async function movement(
  checkpoints: readonly [Saved, Saved],
  { disk, base }: { disk: Disk; base?: WeightSource },
): Promise<Movement> {
  const adapters = checkpoints.filter(({ adapter }) => adapter)
  if (adapters.length === 1)
    throw new WaggleError('E_USAGE', 'one of them holds an adapter, the other all weights of the model', {
      hint: 'Compare two that were trained alike.',
    })
  const opened: Side[] = []
  try {
    for (const { folder, adapter } of checkpoints) {
      const weights = await openTrained(folder, { disk })
      opened.push({ weights, scale: adapter ? adapter.alpha / adapter.rank : 1 })
    }
    const sides = opened as [Side, Side]
    if (adapters.length === 0) return summed('weights', await tensorsMoved(sides))
    const names = matricesUnder(sides)
    return base && names.every((name) => base.tensors.has(name))
      ? summed('matrices', await matricesMoved(names, sides, base))
      : summed('factors', await tensorsMoved(sides))
  } finally {
    await Promise.all(opened.map(({ weights }) => weights.close()))
  }
}

async function tensorsMoved([before, after]: readonly [Side, Side]): Promise<Moved[]> {
  const found: Moved[] = []
  for (const name of before.weights.tensors.keys()) {
    if (!after.weights.tensors.has(name)) continue
    const [x, y] = [await before.weights.readFloat32(name), await after.weights.readFloat32(name)]
    let difference = 0
    for (let i = 0; i < x.length; i++) difference += (y[i]! - x[i]!) ** 2
    found.push({ name, difference, size: squared(x) })
  }
  return found
}

const FACTOR = /\.lora_[AB]\.weight$/

/** Names of the matrices that have an adapter on either side. */
function matricesUnder(sides: readonly Side[]): string[] {
  const factors = sides.flatMap(({ weights }) => [...weights.tensors.keys()])
  return [...new Set(factors.map((name) => name.replace(FACTOR, '.weight')))]
}

async function matricesMoved(
  names: readonly string[],
  sides: readonly Side[],
  base: WeightSource,
): Promise<Moved[]> {
  const found: Moved[] = []
  for (const name of names) {
    const [before, after] = [await productOf(name, sides[0]!), await productOf(name, sides[1]!)]
    const difference = Math.max(0, inner(before, before) - 2 * inner(before, after) + inner(after, after))
    found.push({ name, difference, size: squared(await base.readFloat32(name)) })
  }
  return found
}

/** What an adapter adds to a matrix: scale * B A, with A of [rank, columns] and B of [rows, rank]. */
interface Product {
  a: Float32Array
  b: Float32Array
  rank: number
  scale: number
}

/** Undefined if the matrix has no adapter. */
async function productOf(name: string, { weights, scale }: Side): Promise<Product | undefined> {
  const { a, b } = adapterNames(name)
  const rank = weights.tensors.get(a)?.shape[0]
  if (rank === undefined) return undefined
  return { a: await weights.readFloat32(a), b: await weights.readFloat32(b), rank, scale }
}

/**
 * The sum of the products of two matrices' values. B A, which is large, is never made: <B A, D C> is the sum of the
 * products of B'D and A C', which have only as many rows and columns as the ranks.
 */
function inner(x: Product | undefined, y: Product | undefined): number {
  if (!x || !y) return 0
  const rows = x.b.length / x.rank
  const columns = x.a.length / x.rank
  let sum = 0
  for (let i = 0; i < x.rank; i++) {
    for (let j = 0; j < y.rank; j++) {
      let [left, right] = [0, 0]
      for (let row = 0; row < rows; row++) left += x.b[row * x.rank + i]! * y.b[row * y.rank + j]!
      for (let column = 0; column < columns; column++)
        right += x.a[i * columns + column]! * y.a[j * columns + column]!
      sum += left * right
    }
  }
  return x.scale * y.scale * sum
}

function summed(of: Movement['of'], found: readonly Moved[]): Movement {
  let [difference, size] = [0, 0]
  for (const one of found) {
    difference += one.difference
    size += one.size
  }
  const tensors = found.map((one) => ({ name: one.name, change: relative(one) }))
  return { of, whole: relative({ difference, size }), tensors: tensors.sort((x, y) => y.change - x.change) }
}

function squared(values: Float32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]! ** 2
  return sum
}

/** Relative change of a norm. An adapter's second factor starts at zero, where any change counts as 1. */
const relative = ({ difference, size }: Pick<Moved, 'difference' | 'size'>): number =>
  difference === 0 ? 0 : Math.sqrt(difference / (size || difference))
