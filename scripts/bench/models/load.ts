// Peak memory and time of loading a model, compared with the size of its weights in F32. The model is a BF16 one of
// 500 MB, in one file and in shards, which is created here and removed again. Each load runs in its own process;
// loading the default model shows what the process itself takes.
//
//   node --import tsx scripts/bench/models/load.ts [--mb 500] [--directory DIR]
//   node --import tsx scripts/bench/models/load.ts --file FILE.gguf [--rounds 5]
//
// --file: loads that file as a node does, with its tokenizer, and with frozen weights as the file has them; one process each.

import { spawnSync } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parameterCount, parameterShapes } from '../../../daemon/engine/decoder.ts'
import { bytesOf } from '../../../daemon/engine/stored/stored.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { specOf } from '../../../daemon/policy/architectures/index.ts'
import { loadDecoder, loadModelAs } from '../../../daemon/policy/model.ts'
import { encodeSafetensors, type TensorSource } from '../../../daemon/policy/safetensors/read.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'

const { values } = parseArgs({
  options: {
    mb: { type: 'string', default: '500' },
    directory: { type: 'string' },
    load: { type: 'string' },
    file: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    open: { type: 'string' },
  },
})

if (values.open !== undefined) {
  const started = performance.now()
  const { weights } = await loadModelAs(values.open, { disk }, () => 'file')
  const seconds = (performance.now() - started) / 1000
  const held = Object.values(weights).reduce((sum, one) => sum + bytesOf(one), 0)
  console.log(JSON.stringify({ seconds, held, peak: process.resourceUsage().maxRSS * 1024 }))
  process.exit(0)
}
if (values.file !== undefined) {
  for (let round = 0; round < Number(values.rounds); round++) {
    const { seconds, held, peak } = child('--open', values.file)
    console.log(
      `${seconds.toFixed(2)} s, ${Math.round(held / 1e6)} MB of weights, peak ${Math.round(peak / 1e6)} MB`,
    )
  }
  process.exit(0)
}

if (values.load !== undefined) {
  const started = performance.now()
  const { weights } = await loadDecoder(values.load, { disk })
  const seconds = (performance.now() - started) / 1000
  let held = 0
  for (const { byteLength } of Object.values(weights)) held += byteLength
  console.log(JSON.stringify({ seconds, held, peak: process.resourceUsage().maxRSS * 1024 }))
  process.exit(0)
}

const width = 1024
const config = (layers: number) => ({
  architectures: ['LlamaForCausalLM'],
  vocab_size: 32_000,
  hidden_size: width,
  num_hidden_layers: layers,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  intermediate_size: 2816,
  max_position_embeddings: 2048,
  tie_word_embeddings: true,
})
const one = parameterCount(specOf(config(1)))
const layer = parameterCount(specOf(config(2))) - one
const layers = Math.max(1, Math.round((Number(values.mb) * 1e6 - one * 2) / (layer * 2)) + 1)
const spec = specOf(config(layers))
const root = values.directory ?? (await mkdtemp(join(tmpdir(), 'waggle-load-')))
const random = randomStream(1, 'load')

async function write(file: string, names: readonly string[]): Promise<void> {
  const shapes = parameterShapes(spec)
  const tensors: Record<string, TensorSource> = {}
  for (const name of names) {
    const shape = shapes.get(name)!
    const data = () => Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random() - 0.5)
    tensors[name] = { shape, dtype: 'BF16', data }
  }
  await pipeline(Readable.from(encodeSafetensors({ tensors }).content), createWriteStream(file))
}

try {
  const names = [...parameterShapes(spec).keys()]
  const single = join(root, 'single')
  const sharded = join(root, 'sharded')
  for (const folder of [single, sharded]) {
    await mkdir(folder)
    await writeFile(join(folder, 'config.json'), JSON.stringify(config(layers)))
  }
  await write(join(single, 'model.safetensors'), names)
  const weight_map: Record<string, string> = {}
  for (let part = 0; part < 4; part++) {
    const some = names.filter((_, i) => i % 4 === part)
    for (const name of some) weight_map[name] = `model-${part}.safetensors`
    await write(join(sharded, `model-${part}.safetensors`), some)
  }
  await writeFile(join(sharded, 'model.safetensors.index.json'), JSON.stringify({ weight_map }))

  const bundled = fileURLToPath(new URL('../../../models/default', import.meta.url))
  const load = (folder: string) => child('--load', folder)
  const mb = (bytes: number) => Math.round(bytes / 1e6)
  const nothing = load(bundled)
  console.log(`process with the default model: ${mb(nothing.peak)} MB`)
  for (const folder of [single, sharded]) {
    const { seconds, held, peak } = load(folder)
    const own = peak - (nothing.peak - nothing.held)
    console.log(
      `${folder === single ? 'one file' : '4 shards'}: held ${mb(held)} MB, peak ${mb(peak)} MB, without the process ${mb(own)} MB = ${(own / held).toFixed(3)} x held (${(peak / held).toFixed(3)} x with it), ${seconds.toFixed(1)} s with the digest`,
    )
  }
} finally {
  await rm(root, { recursive: true })
}

function child(...args: string[]): { seconds: number; held: number; peak: number } {
  const script = fileURLToPath(import.meta.url)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', script, ...args], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}
