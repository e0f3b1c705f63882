// Makes the engines that the config asks for. Each kind is loaded only when it is asked for.

import { WaggleError } from '../../protocol/errors.ts'
import type { Engine } from './engine.ts'

export interface EngineChoice {
  kind: 'onnx' | 'tfjs'
  /** As in the config. */
  device: string
  /** That each may use. */
  threads: number
}

/** Several at once, such as one to sample and one to train, since some kinds have to share a thread. */
export async function createEngines(
  { kind, device, threads }: EngineChoice,
  count: number,
): Promise<Engine[]> {
  // A device that was asked for by name and cannot be had is an error: silence would cost days on the wrong one.
  if (device !== 'auto' && device !== 'cpu') {
    throw new WaggleError('E_ENGINE', `engine.device is "${device}", and this version drives the CPU only`, {
      hint: 'Set engine.device to "auto" or "cpu".',
    })
  }
  switch (kind) {
    case 'onnx': {
      const { createOnnxEngine } = await import('./onnx/index.ts')
      return Array.from({ length: count }, () => createOnnxEngine({ threads }))
    }
    case 'tfjs': {
      // Its backends size their pools themselves.
      const { createTfjsEngines } = await import('./tfjs/index.ts')
      return createTfjsEngines(count)
    }
  }
}
