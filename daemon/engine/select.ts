// Makes the engines that the config asks for. Each kind is loaded only when it is asked for.

import type { Engine } from './engine.ts'

export interface EngineChoice {
  kind: 'onnx' | 'tfjs'
  /** That each may use. */
  threads: number
}

/** Several at once, such as one to sample and one to train, since some kinds have to share a thread. */
export async function createEngines({ kind, threads }: EngineChoice, count: number): Promise<Engine[]> {
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
