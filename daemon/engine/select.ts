// Makes the engines that the config asks for. Each kind is loaded only when it is asked for.

import { WaggleError } from '../../protocol/errors.ts'
import { decide } from './devices/decide.ts'
import { DEVICES, type Device } from './devices/device.ts'
import { thisMachine } from './devices/machine.ts'
import { probe } from './devices/probe.ts'
import { createSteadyEngine } from './devices/steady.ts'
import type { Engine } from './engine.ts'
import type { Precision } from './onnx/loss-scale.ts'

export interface EngineChoice {
  kind: 'onnx' | 'tfjs'
  /** As in the config. */
  device: string
  /** That each may use. */
  threads: number
  /** Of the products of matrices in training; float32 if left out. 'auto' is float16 where that is faster. */
  precision?: Precision | 'auto'
  /** Tokens that are trained on at once; by default as many as suit the processor. */
  microBatchTokens?: number
  /** Activations are computed again for the backward pass instead of kept; false by default. */
  checkpointing?: boolean
}

/**
 * Several at once, such as one to sample and one to train, since some kinds have to share a thread. Rejects with
 * E_ENGINE where the device was asked for by name and does not work.
 */
export async function createEngines(
  { kind, device, threads, precision, microBatchTokens, checkpointing }: EngineChoice,
  count: number,
  { onNotice }: { onNotice?: (message: string) => void } = {},
): Promise<Engine[]> {
  switch (kind) {
    case 'onnx': {
      const { createOnnxEngines } = await import('./onnx/index.ts')
      const choice = await decide(
        { wanted: deviceOf(device), machine: thisMachine(), ...(precision ? { precision } : {}) },
        { probe },
      )
      const { device: provider, reason } = choice
      const options = {
        threads,
        ...(microBatchTokens ? { microBatchTokens } : {}),
        ...(checkpointing ? { checkpointing } : {}),
      }
      const engines = createOnnxEngines(
        count,
        { ...options, provider, precision: choice.precision },
        { reason, onNotice },
      )
      if (provider === 'cpu') return engines
      const spare = (why: string): Engine => createOnnxEngines(1, options, { reason: why, onNotice })[0]!
      return engines.map((engine) => createSteadyEngine({ engine, spare, onNotice }))
    }
    case 'tfjs': {
      // It takes the fastest of its backends that is installed.
      if (device !== 'auto' && device !== 'cpu')
        throw new WaggleError(
          'E_ENGINE',
          `engine.device is "${device}", which engine.kind "tfjs" cannot be told`,
          {
            hint: 'Set engine.device to "auto": TensorFlow.js takes its fastest backend that is installed.',
          },
        )
      // Its backends size their pools themselves.
      const { createTfjsEngines } = await import('./tfjs/index.ts')
      return createTfjsEngines(count)
    }
  }
}

function deviceOf(name: string): Device | 'auto' {
  if (name === 'auto' || (DEVICES as readonly string[]).includes(name)) return name as Device | 'auto'
  throw new WaggleError('E_ENGINE', `engine.device is "${name}", which is no device`, {
    hint: `It can be auto, ${DEVICES.join(', ')}.`,
  })
}
