// llama.cpp as the sampler. The package is optional: what needs it runs where it is installed.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { initialAdapter } from '../../daemon/policy/adapter.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { createAdapterFiles, createExternalSampler } from '../../daemon/sampler/index.ts'
import { createLlamaCpp } from '../../daemon/sampler/node-llama-cpp.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { CONFIGS } from '../conformance/families.ts'
import { byteLevelEntries, entriesOf, ggufBytes, randomWeights, tensorsOf } from '../policy/gguf/make.ts'

const PACKAGE = 'node-llama-cpp'
const isInstalled = await import(PACKAGE).then(
  () => true,
  () => false,
)

test('without the package, the error says how to install it', async () => {
  const load = () => Promise.reject(new Error('Cannot find package'))
  const backEnd = createLlamaCpp({ file: '/a.gguf', parallel: 1, threads: 1 }, { load })
  await expect(backEnd.open()).rejects.toMatchObject({
    code: 'E_SAMPLER',
    message: expect.stringContaining('node-llama-cpp is not installed'),
    hint: expect.stringContaining('npm install node-llama-cpp'),
  })
})

test.skipIf(!isInstalled)('llama.cpp samples as the trainer does, adapters included', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waggle-llama-'))
  const config = { ...CONFIGS['Llama 2'], vocab_size: 36, hidden_size: 32, max_position_embeddings: 512 }
  const file = join(folder, 'base.gguf')
  const whole = specOf(config)
  const entries = { ...entriesOf('llama', config), ...byteLevelEntries() }
  await writeFile(file, await ggufBytes(entries, tensorsOf('llama', whole, randomWeights(whole))))
  const model = await loadModel(file, { disk })
  const spec = { ...model.spec, adapter: { rank: 2, alpha: 4, targets: ['q_proj', 'down_proj'] as const } }
  const trainer = createOnnxEngine({ threads: 1 })
  const notices: string[] = []
  const sampler = createExternalSampler(
    { every: 1, tolerance: 0.05, tokenizer: model.tokenizer, seed: 1, run: 'r' },
    {
      backEnd: createLlamaCpp({ file, parallel: 4, threads: 1 }),
      files: createAdapterFiles({ folder, format: 'gguf', model, spec }, { disk }),
      trainer,
      onNotice: (message) => notices.push(message),
    },
  )
  try {
    const adapter = initialAdapter(spec, randomStream(1, 'adapter'))
    const opening = { spec, weights: { ...model.weights, ...adapter } }
    await Promise.all([sampler.open(opening), trainer.open(opening)])
    expect(notices).toHaveLength(2)
    const prompt = model.tokenizer.encodePrompt('hello')
    const samples = [1, 1, 2].map((seed) => ({ prompt, seed }))
    const request = { samples, maxNewTokens: 12, temperature: 1, stopTokens: model.tokenizer.stopTokens }
    const [first, again, other] = await sampler.generate(request)
    expect(first!.tokens).toEqual(again!.tokens)
    expect(first!.tokens).not.toEqual(other!.tokens)
    const greedy = await sampler.generate({ ...request, temperature: 0 })
    expect(greedy[0]!.tokens).toEqual(greedy[2]!.tokens)
    await sampler.setWeights(adapter, 1)
    expect((await sampler.generate(request))[0]!.version).toBe(1)
  } finally {
    await Promise.all([sampler.close(), trainer.close()])
    await rm(folder, { recursive: true })
  }
})
