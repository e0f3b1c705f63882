// The jobs that scripts/bench/engine measures.

import { parameterCount } from '../../../daemon/engine/decoder.ts'
import { plainFrequencies } from '../../../daemon/policy/architectures/rope.ts'

interface Sizes {
  vocabulary: number
  width: number
  layers: number
  heads: number
  kvHeads: number
  headWidth: number
  feedForward: number
  context: number
}

export type Job = {
  name: string
  /** Floating-point operations of one run: 6 N a trained token, 2 N a sampled one, 2 n³ a product. */
  flops: number
  tokens: number
} & (
  | { kind: 'matmul'; size: number; repeat: number }
  | ({ kind: 'train'; rows: number; length: number } & Sizes)
  | ({ kind: 'sample'; rows: number; prompt: number; length: number } & Sizes)
)

const sizes = (width: number, layers: number, vocabulary = 512): Sizes => ({
  vocabulary,
  width,
  layers,
  heads: width / 32,
  kvHeads: Math.max(1, width / 64),
  headWidth: 32,
  feedForward: Math.round((width * 8) / 3 / 32) * 32,
  context: 256,
})

export function specOf(job: Sizes) {
  const { context, ...rest } = job
  return {
    ...rest,
    contextLength: context,
    normEpsilon: 1e-5,
    ropeFrequencies: plainFrequencies(10_000, job.headWidth),
    tiedEmbeddings: true,
    attentionBias: false,
    queryKeyNorm: false,
  }
}

function train(label: string, model: Sizes, rows: number, length: number): Job {
  const count = parameterCount(specOf(model))
  return {
    name: `train ${label} (${(count / 1e6).toFixed(2)} M, ${rows} x ${length})`,
    kind: 'train',
    flops: 6 * count * rows * length,
    tokens: rows * length,
    rows,
    length,
    ...model,
  }
}

function sample(label: string, model: Sizes, rows: number, prompt: number, length: number): Job {
  const count = parameterCount(specOf(model))
  return {
    name: `sample ${label} (${(count / 1e6).toFixed(2)} M, ${rows} x ${prompt}+${length})`,
    kind: 'sample',
    flops: 2 * count * rows * (prompt + length),
    tokens: rows * length,
    rows,
    prompt,
    length,
    ...model,
  }
}

export const JOBS: readonly Job[] = [
  { name: 'matrix product 1024³', kind: 'matmul', size: 1024, repeat: 5, flops: 2 * 1024 ** 3, tokens: 0 },
  train('0.1M', sizes(64, 2), 16, 128),
  train('3.5M', sizes(256, 4), 16, 128),
  train('26M', sizes(512, 8), 8, 128),
  sample('1M', sizes(128, 5), 64, 32, 64),
  sample('3.5M', sizes(256, 4), 64, 32, 64),
  sample('25M', sizes(512, 8), 64, 32, 64),
]
