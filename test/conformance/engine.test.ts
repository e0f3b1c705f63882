// The engine suite, on every engine there is.

import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { createTfjsEngine } from '../../daemon/engine/tfjs/index.ts'
import { describeEngine } from './engine.ts'

describeEngine('onnx', async (options) => createOnnxEngine({ threads: 1, ...options }))
describeEngine('tfjs', (options) => createTfjsEngine(options))
