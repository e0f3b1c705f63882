// Arrays that are as wide as the vocabulary, or that grow with the square of a length, are made for a part of their rows
// at a time. The number of parts is fixed in a graph; it is a power of two, so that few graphs are compiled. Their sizes
// are given with each run.

import type { DecoderSpec } from '../../decoder.ts'
import type { BatchShape } from '../batch/packing.ts'
import type { Range } from '../graph/autodiff.ts'
import { type Bindings, type Dimension, symbol, times } from '../graph/dimension.ts'
import type { Graph } from '../graph/graph.ts'

/** The number of parts of the logits' rows, and of the queries of segments and of prefixes. */
export interface Parts {
  head: number
  segments: number
  prefixes: number
}

/** Most bytes of one part's logits. Smaller parts take less memory but read the output matrix more often. */
const LOGIT_BYTES = { usual: 160 * 2 ** 20, short: 64 * 2 ** 20 }
/** Most bytes of one part's scores. */
const SCORE_BYTES = 128 * 2 ** 20
/**
 * On the CPU a part of a long sequence is about so many queries, since fewer keys come before it then. Each part has nodes of
 * its own in every layer, and large graphs compile slowly; on a device each costs a start.
 */
const QUERIES = { part: 256, shortest: 1536, parts: 8 }
const FLOAT = 4

/** The parts of a micro-batch, and the sizes that a graph with these parts is run with. */
export function partsFor(
  shape: BatchShape,
  { vocabulary, heads }: Pick<DecoderSpec, 'vocabulary' | 'heads'>,
  { isShort = false, isOnDevice = false }: { isShort?: boolean | undefined; isOnDevice?: boolean } = {},
): { parts: Parts; sizes: Bindings } {
  const { groups, rows, prefix, segment } = shape
  const lengths = { head: 1 + shape.segmentTokens, segments: segment, prefixes: prefix }
  const bytesOfScores = FLOAT * groups * heads
  const parts = {
    head: partsOf(lengths.head, FLOAT * lengths.head * vocabulary, LOGIT_BYTES[isShort ? 'short' : 'usual']),
    segments: queryParts(segment, bytesOfScores * rows * segment * (prefix + segment), isOnDevice),
    prefixes: queryParts(prefix, bytesOfScores * prefix * prefix, isOnDevice),
  }
  return { parts, sizes: { ...shape, ...partSizes(lengths, parts) } }
}

function queryParts(queries: number, bytes: number, isOnDevice: boolean): number {
  const { part, shortest, parts } = QUERIES
  const needed = partsOf(queries, bytes, SCORE_BYTES)
  if (isOnDevice || queries < shortest) return needed
  return Math.max(needed, Math.min(parts, 2 ** Math.floor(Math.log2(queries / part))))
}

/** The number of parts to cut `rows` rows into, given the bytes of all of them and the most bytes of a part. */
export function partsOf(rows: number, bytes: number, most: number): number {
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, bytes / most)))
  return wanted <= rows ? wanted : 1
}

/** The sizes that a graph with these parts needs, for a run with these numbers of rows. */
export function partSizes(rows: Parts, parts: Parts): Bindings {
  return Object.fromEntries(
    (['head', 'segments', 'prefixes'] as const).map((which) => [
      nameOf(which),
      Math.floor(rows[which] / parts[which]),
    ]),
  )
}

/** The size of each part but the last, which also has the rest. */
const nameOf = (which: keyof Parts): string => `${which}.part`

/** The rows of each part. With more than one, the runtime keeps no part's memory for later ones. */
export function rangesOf(graph: Graph, rows: Dimension, which: keyof Parts, parts: number): Range[] {
  if (parts === 1) return [{ from: 0, to: rows }]
  graph.leaveUnplanned(nameOf(which))
  const part = symbol(nameOf(which))
  return Array.from({ length: parts }, (_, i) => ({
    from: times(part, i),
    to: i === parts - 1 ? rows : times(part, i + 1),
  }))
}
