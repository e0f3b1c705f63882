// Exports a model for other tools: the whole model in Hugging Face's layout with the adapter merged, or only the
// adapter in PEFT's. Writes tensor by tensor. Each file is written completely or not at all.

import { join } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { parameterShapes } from '../../engine/decoder.ts'
import { asFloats } from '../../engine/stored/stored.ts'
import { writeFileWhole } from '../../store/atomic.ts'
import type { Disk } from '../../store/disk.ts'
import { mergedTensor } from '../adapter.ts'
import { ADAPTER_CONFIG_FILE } from '../files/model-files.ts'
import { modelSource } from '../files/model-source.ts'
import type { StoredModel } from '../model.ts'
import { encodeSafetensors, type TensorSource, WEIGHTS_FILE } from '../safetensors/read.ts'
import { ADAPTER_WEIGHTS_FILE, type AdapterBase, adapterConfig, adapterTensors } from './peft.ts'

export const EXPORT_DTYPES = {
  f32: ['F32', 'float32'],
  bf16: ['BF16', 'bfloat16'],
  f16: ['F16', 'float16'],
} as const
export type ExportDtype = keyof typeof EXPORT_DTYPES

export interface WriteOptions {
  /** Must exist. */
  target: string
  dtype: ExportDtype
  /** Text of README.md. */
  card: string
}

export async function writeMerged(
  model: StoredModel,
  { target, dtype, card }: WriteOptions,
  { disk }: { disk: Disk },
): Promise<string[]> {
  const { spec, weights, files } = model
  const [format, name] = EXPORT_DTYPES[dtype]
  const { adapter, ...plain } = spec
  const tensors: Record<string, TensorSource> = {}
  for (const [tensor, shape] of parameterShapes(plain)) {
    const data = () => (adapter ? mergedTensor(tensor, shape, weights, adapter) : asFloats(weights[tensor]!))
    tensors[tensor] = { shape, dtype: format, data }
  }
  const { put, written } = writerTo(target, disk)
  await put('config.json', `${JSON.stringify(withDtype(files.config, name), null, 2)}\n`)
  const source = await modelSource(model.directory, { disk })
  for (const [file, content] of await source.copies()) await put(file, content)
  await put('README.md', card)
  // Last, so that an interrupted export is not mistaken for a model.
  await put(WEIGHTS_FILE, encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true }).content)
  return written
}

export async function writeAdapter(
  model: StoredModel,
  { target, dtype, card, base }: WriteOptions & { base: AdapterBase },
  { disk }: { disk: Disk },
): Promise<string[]> {
  const { spec, weights } = model
  if (!spec.adapter) {
    throw new WaggleError('E_MODEL', 'this run trains all parameters, so there is no adapter to export', {
      hint: 'Export the whole model with `waggle export model DIR`, or train with training.method = "lora".',
    })
  }
  const [format] = EXPORT_DTYPES[dtype]
  const tensors = adapterTensors(spec, weights, format)
  const { put, written } = writerTo(target, disk)
  await put(ADAPTER_CONFIG_FILE, `${JSON.stringify(adapterConfig(spec.adapter, base), null, 2)}\n`)
  await put('README.md', card)
  await put(
    ADAPTER_WEIGHTS_FILE,
    encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true }).content,
  )
  return written
}

function writerTo(target: string, disk: Disk) {
  const written: string[] = []
  const put = async (
    file: string,
    content: Parameters<typeof writeFileWhole>[0]['content'],
  ): Promise<void> => {
    const path = join(target, file)
    await writeFileWhole({ path, content }, { disk })
    written.push(path)
  }
  return { put, written }
}

/** Transformers 4 reads `torch_dtype`, 5 reads `dtype`. */
function withDtype(config: Record<string, unknown>, name: string): Record<string, unknown> {
  return { ...config, torch_dtype: name, ...(config.dtype === undefined ? {} : { dtype: name }) }
}
