// Makes the engine that the config asks for. Each is loaded only when it is asked for.

import type { Engine } from './engine.ts'

export interface EngineChoice {
  kind: 'onnx' | 'tfjs'
  threads: number
}

export async function createEngine({ kind, threads }: EngineChoice): Promise<Engine> {
  switch (kind) {
    case 'onnx': {
      const { createOnnxEngine } = await import('./onnx/index.ts')
      return createOnnxEngine({ threads })
    }
    case 'tfjs': {
      // Its backends size their pools themselves.
      const { createTfjsEngine } = await import('./tfjs/index.ts')
      return createTfjsEngine()
    }
  }
}
