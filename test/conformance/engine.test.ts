// The engine suite, on every engine there is.

import { afterAll, describe } from 'vitest'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { createTfjsEngine } from '../../daemon/engine/tfjs/index.ts'
import { randomWeights, SPEC } from '../engine/model.ts'
import { describeEngine } from './engine.ts'
import { describeCuts } from './engine-cuts.ts'
import { describeGrammars } from './engine-grammar.ts'
import { describeHidden } from './engine-hidden.ts'
import { describeInFlight } from './engine-in-flight.ts'
import { describeJoins } from './engine-joins.ts'
import { describePlaces } from './engine-places.ts'

describeEngine('onnx', async (options) => createOnnxEngine({ threads: 1, ...options }))
describe('with tensors that stay with the provider between calls', () => {
  describeEngine('onnx', async (options) => createOnnxEngine({ threads: 1, isResident: true, ...options }))
})
describe('in a process of its own', () => {
  const engine = createOnnxEngine({ threads: 1, isProcess: true })
  afterAll(() => engine.close())
  const open = (spec = SPEC) => engine.open({ spec, weights: randomWeights(spec, 1) })
  describeHidden(() => engine, open)
  describePlaces(() => engine, open)
  describeGrammars(() => engine)
  describeCuts(() => engine, open)
  describeInFlight(() => engine, open)
  describeJoins(() => engine, open)
})
describeEngine('tfjs', (options) => createTfjsEngine(options))
