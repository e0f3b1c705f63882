// The engine suite, on every engine there is.

import { describe } from 'vitest'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { createTfjsEngine } from '../../daemon/engine/tfjs/index.ts'
import { describeEngine } from './engine.ts'

describeEngine('onnx', async (options) => createOnnxEngine({ threads: 1, ...options }))
describe('with tensors that stay with the provider between calls', () => {
  describeEngine('onnx', async (options) => createOnnxEngine({ threads: 1, isResident: true, ...options }))
})
describeEngine('tfjs', (options) => createTfjsEngine(options))
