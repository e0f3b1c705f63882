// Exports for llama.cpp and the tools around it: only the adapter, in the layout of llama.cpp's
// convert_lora_to_gguf.py, or a model whose base was a GGUF file, with the adapter merged. Writes tensor by tensor. The
// file is written completely or not at all.

import { WaggleError } from '../../../protocol/errors.ts'
import { adapterShapes, type DecoderSpec, parameterShapes } from '../../engine/decoder.ts'
import { asFloats, type BaseWeights } from '../../engine/stored/stored.ts'
import { writeFileWhole } from '../../store/atomic.ts'
import type { Disk } from '../../store/disk.ts'
import { mergedTensor } from '../adapter.ts'
import type { StoredModel } from '../model.ts'
import type { WrittenType } from './blocks/quantize.ts'
import { GGUF_FAMILIES, type GgufFamily } from './families.ts'
import { openGguf } from './read.ts'
import { ggufName, toGguf } from './tensors.ts'
import { TENSOR_TYPES } from './types.ts'
import { type Entry, encodeEntry, encodeGguf, type GgufTensor } from './write.ts'

interface GgufExport {
  /** The file to write. */
  target: string
  type: WrittenType
  /** The model card, which the file holds as its description. */
  card?: string
}

/** Entries that describe the old values, or the layout of the old file. */
const REPLACED = new Set(['general.alignment', 'general.file_type', 'general.quantization_version'])
const DESCRIPTION = 'general.description'
/** llama.cpp's numbers for a file, by the type of most of its tensors. */
const FILE_TYPE: Record<WrittenType, number> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 }

/** Writes the whole model. Throws E_MODEL unless its base is a GGUF file, which provides metadata and tokenizer. */
export async function writeGgufModel(
  model: StoredModel,
  { target, type, card }: GgufExport,
  { disk }: { disk: Disk },
): Promise<void> {
  if ((await disk.stat(await disk.realPath(model.directory)))?.kind !== 'file') {
    throw new WaggleError(
      'E_MODEL',
      `${model.directory} is not a GGUF file, whose tokenizer the export could take over`,
      {
        hint: "Export to a folder, and convert that with llama.cpp's convert_hf_to_gguf.py. An adapter can be exported as GGUF from any model.",
      },
    )
  }
  const { spec, weights } = model
  const family = familyOf(model)
  const { adapter, ...plain } = spec
  const base = await openGguf({ path: model.directory }, { disk })
  try {
    const tensors = new Map<string, GgufTensor>()
    for (const name of base.tensors.keys()) {
      if (name === 'rope_freqs.weight')
        tensors.set(name, {
          shape: base.tensors.get(name)!.shape,
          type: 'F32',
          data: () => base.readFloat32(name),
        })
    }
    for (const [name, shape] of parameterShapes(plain)) {
      tensors.set(ggufName(name, family), {
        shape,
        type: typeFor(shape, type),
        data: () => {
          const values = adapter ? mergedTensor(name, shape, weights, adapter) : asFloats(weights[name]!)
          return toGguf(values, { name, rows: shape[0]!, headWidth: spec.headWidth }, family)
        },
      })
    }
    const metadata = new Map([...base.encoded].filter(([key]) => !REPLACED.has(key)))
    put(metadata, 'general.file_type', { kind: 'u32', value: FILE_TYPE[type] })
    put(metadata, 'general.quantization_version', { kind: 'u32', value: 2 })
    if (card !== undefined) put(metadata, DESCRIPTION, { kind: 'text', value: card })
    await writeFileWhole({ path: target, content: encodeGguf({ metadata, tensors }).content }, { disk })
  } finally {
    await base.close()
  }
}

/** Writes only the adapter, for `llama-server --lora` and Ollama's ADAPTER. The base model may come from anywhere. */
export async function writeGgufAdapter(
  model: StoredModel,
  { target, type, card }: GgufExport,
  { disk }: { disk: Disk },
): Promise<void> {
  const { spec, weights } = model
  const { adapter } = spec
  if (!adapter) {
    throw new WaggleError('E_MODEL', 'this run trains all parameters, so there is no adapter to export', {
      hint: 'Export the whole model with `waggle export model`, or train with training.method = "lora".',
    })
  }
  const family = familyOf(model)
  const metadata = new Map<string, Uint8Array>()
  put(metadata, 'general.type', { kind: 'text', value: 'adapter' })
  put(metadata, 'general.architecture', { kind: 'text', value: family.name })
  put(metadata, 'general.file_type', { kind: 'u32', value: FILE_TYPE[type] })
  if (card !== undefined) put(metadata, DESCRIPTION, { kind: 'text', value: card })
  put(metadata, 'adapter.type', { kind: 'text', value: 'lora' })
  // llama.cpp divides it by the rank, as Waggle does.
  put(metadata, 'adapter.lora.alpha', { kind: 'f32', value: adapter.alpha })
  const tensors = adapterTensors(spec, weights, family, type)
  await writeFileWhole({ path: target, content: encodeGguf({ metadata, tensors }).content }, { disk })
}

function adapterTensors(
  spec: DecoderSpec,
  weights: BaseWeights,
  family: GgufFamily,
  type: WrittenType,
): Map<string, GgufTensor> {
  const tensors = new Map<string, GgufTensor>()
  for (const [name, shape] of adapterShapes(spec)) {
    const [, stem, side] = /^(.+)\.lora_([AB])\.weight$/.exec(name)!
    tensors.set(`${ggufName(`${stem}.weight`, family)}.lora_${side!.toLowerCase()}`, {
      shape,
      type: typeFor(shape, type),
      data: () =>
        toGguf(asFloats(weights[name]!), { name, rows: shape[0]!, headWidth: spec.headWidth }, family),
    })
  }
  return tensors
}

/** Norms and biases stay F32, as in llama.cpp's own files; matrices whose rows are not whole blocks become F16. */
function typeFor(shape: readonly number[], type: WrittenType): WrittenType {
  if (shape.length === 1) return 'F32'
  return shape.at(-1)! % TENSOR_TYPES[type].values === 0 ? type : 'F16'
}

function familyOf({ files }: Pick<StoredModel, 'files'>): GgufFamily {
  const { architectures, model_type: type } = files.config
  const names = Array.isArray(architectures) ? architectures : []
  const family = GGUF_FAMILIES.find(({ architecture, name }) =>
    names.length > 0 ? names.includes(architecture) : name === type,
  )
  if (family) return family
  throw new WaggleError('E_MODEL', 'GGUF has no layout for models of this family that can be written here', {
    hint: 'Export to a folder instead.',
  })
}

function put(metadata: Map<string, Uint8Array>, key: string, entry: Entry): void {
  metadata.set(key, encodeEntry(key, entry))
}
