// The jobs that scripts/bench/real-model measures.

import type { AdapterSpec } from '../../../daemon/engine/decoder.ts'
import { DEVICES, type Device } from '../../../daemon/engine/devices/device.ts'
import type { Precision } from '../../../daemon/engine/onnx/loss-scale.ts'

export interface Job {
  name: string
  kind: 'load' | 'sample' | 'score' | 'train'
  /** Prompts, and completions of each. */
  groups: number
  rows: number
  /** Tokens of a prompt, and of a completion. */
  prompt: number
  length: number
}

/** A job with all that either side needs to know. */
export type Order = Job & {
  folder: string
  threads: number
  runs: number
  /** Completion tokens of a run. */
  tokens: number
  adapter: AdapterSpec
  /** How PyTorch runs it. */
  way?: 'eager' | 'compiled'
  /** Where it runs: the CPU if left out. PyTorch takes CUDA for any other. */
  device?: Device
  precision?: Precision
}

export interface Measured {
  seconds: number[]
  /** Of all cores together: what a busy machine disturbs less. */
  cpuSeconds: number[]
  loadSeconds: number
  /** Peak resident memory after loading, and at the end. */
  loadBytes: number
  peakBytes: number
  /** What the first run found, for both sides to agree on: log-probs of a score, loss and gradient's norm of a step. */
  found: number[]
}

/** Numbers that look random and are the same on both sides, from 0 to 1: a multiplicative hash of the index. */
export function scattered(index: number): number {
  return (Math.imul(index, 2_654_435_761) >>> 0) / 2 ** 32
}

/** The usual one for training by reinforcement: all matrices of every layer. */
export const ADAPTER: AdapterSpec = {
  rank: 16,
  alpha: 32,
  targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
}

const size = { prompt: 64, length: 64 }
const alone = { groups: 1, rows: 1, ...size }
const group = { groups: 1, rows: 8, ...size }
const prompts = { groups: 8, rows: 1, ...size }

export const JOBS: readonly Job[] = [
  { name: 'load', kind: 'load', ...group },
  { name: 'sample, 1 sequence', kind: 'sample', ...alone },
  { name: 'sample, 8 completions of a prompt', kind: 'sample', ...group },
  { name: 'sample, 32 of 4 prompts', kind: 'sample', ...group, groups: 4 },
  { name: 'score, 8 completions of a prompt', kind: 'score', ...group },
  { name: 'LoRA step, 8 completions of a prompt', kind: 'train', ...group },
  { name: 'LoRA step, 8 prompts', kind: 'train', ...prompts },
]

/** Where a device has enough to do. */
export const DEVICE_JOBS: readonly Job[] = [
  ...JOBS,
  { name: 'sample, 64 of 8 prompts', kind: 'sample', ...group, groups: 8 },
  { name: 'LoRA step, 64 of 8 prompts', kind: 'train', ...group, groups: 8 },
]

/** The device that `--device` names. */
export function deviceOf(name: string): Device {
  const device = DEVICES.find((one) => one === name)
  if (device === undefined) throw new Error(`--device must be one of ${DEVICES.join(', ')}, not "${name}"`)
  return device
}
