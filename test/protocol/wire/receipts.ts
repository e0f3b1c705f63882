// A receipt and a batch behind it, for the golden fixtures.

import type { Batch, Receipt } from '../../../protocol/wire/index.ts'
import { peerIdOf } from '../../../protocol/wire/index.ts'

const peer = (byte: number): string => peerIdOf(new Uint8Array(32).fill(byte))
const hash = (byte: number): string => byte.toString(16).padStart(2, '0').repeat(32)
const policy = { lineage: hash(0xab), tokenizer: hash(0xcd), version: 41 }

export const batch: Batch = {
  settings: {
    minibatches: 2,
    draws: [0, 4_294_967_295],
    optimizer: {
      ...{
        learningRate: 1e-4,
        beta1: 0.9,
        beta2: 0.99,
        epsilon: 1e-8,
        weightDecay: 0,
        maxGradientNorm: 0.75,
      },
    },
    learnForeign: true,
    compare: false,
    meanOwn: { gradientNorm: 0.30000000000000004, count: 128.5 },
    authors: [{ author: peer(3), isBelieved: true, isNew: false, weights: [1, 0.25] }],
  },
  groups: [
    {
      prompt: { task: 'basic_arithmetic', taskVersion: 1, seed: 1234, difficulty: 3 },
      policy,
      born: 41,
      rollouts: [
        {
          text: '<answer>12</answer>',
          finish: 'stop',
          segments: [
            { version: 40, start: 0, length: 1 },
            { version: 41, start: 1, length: 2 },
          ],
          tokens: Int32Array.of(0, 127, 1_048_575),
          logprobs: Float32Array.of(-0.5, -1.25, 0),
          entropies: Float32Array.of(0.5, 2, 0),
        },
        {
          text: 'I do not know',
          finish: 'length',
          segments: [{ version: 41, start: 0, length: 1 }],
          tokens: Int32Array.of(7),
        },
      ],
    },
    {
      prompt: { task: 'basic_arithmetic', taskVersion: 1, seed: 1235, difficulty: 3 },
      author: peer(3),
      policy: { ...policy, lineage: hash(0xac) },
      born: 40,
      rollouts: [
        {
          text: '',
          finish: 'aborted',
          segments: [{ version: 9, start: 0, length: 1 }],
          tokens: Int32Array.of(9),
        },
      ],
    },
  ],
}

const state = (byte: number) => ({ steps: byte, weights: hash(byte), moments: hash(byte + 100) })

export const receipt: Omit<Receipt, 'author'> = {
  lineage: hash(0xab),
  method: '{"estimator":{"use":"grpo"}}',
  build: 'waggle 0.1.0, onnx on cpu, linux x64',
  steps: [
    {
      version: 41,
      before: state(1),
      after: state(2),
      groups: [{ id: hash(7) }, { id: hash(8), author: peer(3) }],
      batch: { hash: hash(9), size: 4096 },
      joined: [{ author: peer(4), hash: hash(10) }],
    },
    {
      version: 42,
      before: state(2),
      after: state(3),
      groups: [],
      closed: 'a teacher took part',
      joined: [],
    },
  ],
  head: { hash: hash(11), weights: hash(3), lost: hash(12) },
  createdAt: 1_700_000_000_000,
}

/** As from 1.4 on: it says how heads were averaged in. */
export const newReceipt: typeof receipt = {
  ...receipt,
  steps: receipt.steps.map((step) => ({
    ...step,
    joined: step.joined.map((one) => ({ ...one, added: { share: 1 / 3, beside: hash(1) } })),
  })),
}
