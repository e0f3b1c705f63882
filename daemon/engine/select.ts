// Creates the engines that the config names. A kind is loaded only when it is needed.

import { WaggleError } from '../../protocol/errors.ts'
import { decide } from './devices/decide.ts'
import { DEVICES, type Device, isOnlyProcessor } from './devices/device.ts'
import { thisMachine } from './devices/machine.ts'
import { probe } from './devices/probe.ts'
import { createSteadyEngine } from './devices/steady.ts'
import type { Sizes } from './devices/trial.ts'
import type { Engine } from './engine.ts'
import type { SamplingPrecision } from './onnx/index.ts'
import type { Precision } from './onnx/loss-scale.ts'
import { createRestingEngine } from './thread/resting.ts'

interface EngineChoice {
  kind: 'onnx' | 'tfjs'
  /** As in the config: `auto`, or a device's name. */
  device: string
  /** Threads that each engine may use. */
  threads: number
  /** The model whose sizes devices are tried with; about those of the default model if left out. */
  like?: Sizes
  /** Precision of matrix products in training; float32 if left out. 'auto' means float16 where it is faster. */
  precision?: Precision | 'auto'
  /** Tokens in a micro-batch; by default as many as suit the processor. */
  microBatchTokens?: number
  /** Recompute activations in the backward pass instead of keeping them; false by default. */
  checkpointing?: boolean
  /** On the CPU, give memory back as soon as it is free; see onnx/core.ts. */
  returnsMemory?: boolean
  /** Keep a packed copy of 4- and 8-bit weights, which makes sampling fast; true by default. */
  packs?: boolean
  /** Precision of what sampling multiplies these weights by; `int8` by default. */
  samplingPrecision?: SamplingPrecision
  /** On the CPU, all engines share one thread. They take turns and use less memory. */
  sharesThread?: boolean
}

/**
 * Creates several engines at once, such as one to sample and one to train, because some kinds must share a thread.
 * Rejects with E_ENGINE if the config names a device that does not work.
 */
export async function createEngines(
  {
    kind,
    device,
    threads,
    like,
    precision,
    microBatchTokens,
    checkpointing,
    returnsMemory,
    packs = true,
    samplingPrecision,
    sharesThread = false,
  }: EngineChoice,
  count: number,
  { onNotice }: { onNotice?: (message: string) => void } = {},
): Promise<Engine[]> {
  switch (kind) {
    case 'onnx': {
      const { onnxEngineFactory } = await import('./onnx/index.ts')
      const choice = await decide(
        {
          ...{
            wanted: deviceOf(device),
            machine: thisMachine(),
            purpose: { threads, ...(like && { like }) },
          },
          ...(precision ? { precision } : {}),
        },
        { probe },
      )
      const { device: provider, reason } = choice
      const options = {
        threads,
        ...(microBatchTokens ? { microBatchTokens } : {}),
        ...(checkpointing ? { checkpointing } : {}),
        ...(returnsMemory ? { returnsMemory } : {}),
        ...(packs ? {} : { packs }),
        ...(samplingPrecision ? { samplingPrecision } : {}),
      }
      const start = onnxEngineFactory(
        { ...options, provider, precision: choice.precision },
        { reason, onNotice, sharesThread },
      )
      const all = <One>(make: () => One): One[] => Array.from({ length: count }, make)
      if (provider === 'cpu') return all(() => createRestingEngine(start))
      const spare = (why: string): Engine => onnxEngineFactory(options, { reason: why, onNotice })()
      return all(() => createSteadyEngine({ engine: start(), spare, onNotice }))
    }
    case 'tfjs': {
      // TensorFlow.js chooses the fastest of its installed backends.
      if (device !== 'auto' && device !== 'cpu')
        throw new WaggleError(
          'E_ENGINE',
          `engine.device is "${device}", but engine.kind "tfjs" chooses its own device`,
          {
            hint: 'Set engine.device to "auto": TensorFlow.js takes its fastest installed backend.',
          },
        )
      // Its backends choose the number of threads themselves.
      const { createTfjsEngines } = await import('./tfjs/index.ts')
      return createTfjsEngines(count)
    }
  }
}

/** Whether engines of these settings are sure to compute on the processor. */
export function isOnProcessor({ kind, device }: Pick<EngineChoice, 'kind' | 'device'>): boolean {
  return kind === 'onnx' && isOnlyProcessor(deviceOf(device), thisMachine())
}

function deviceOf(name: string): Device | 'auto' {
  if (name === 'auto' || (DEVICES as readonly string[]).includes(name)) return name as Device | 'auto'
  throw new WaggleError('E_ENGINE', `engine.device is "${name}", which is not a device`, {
    hint: `It can be auto, ${DEVICES.join(', ')}.`,
  })
}
