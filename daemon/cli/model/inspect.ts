// Inspects a model without loading or downloading it: reads only headers and small files. Rejects with E_MODEL for
// anything that would prevent a node from starting with it.

import { WaggleError } from '../../../protocol/errors.ts'
import { type DecoderSpec, parameterShapes } from '../../engine/decoder.ts'
import type { WeightSource } from '../../policy/files/model-files.ts'
import { describeModel, type Model } from '../../policy/model.ts'
import { bundledModel, findModel } from '../../policy/sources/find.ts'
import { hubReference } from '../../policy/sources/reference.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../contract.ts'
import { fromHere } from './locate.ts'

export interface Inspected extends Pick<Model, 'spec' | 'tokenizer' | 'files' | 'directory'> {
  /** For display. */
  name: string
  tensors: WeightSource['tensors']
}

/** Undefined for a model on the hub that is not downloaded yet. A relative folder is relative to `base`. */
export async function inspectModel(
  { io }: Pick<Context, 'io'>,
  { reference, base }: { reference: string; base: string },
): Promise<Inspected | undefined> {
  let found: { directory: string; name: string }
  try {
    found = await findModel(
      {
        ...{ reference, base, bundled: bundledModel(io.packageRoot), homedir: io.homedir },
        // Never download here.
        env: { ...io.env, HF_HUB_OFFLINE: '1' },
      },
      fromHere,
    )
  } catch (error) {
    if (error instanceof WaggleError && / is not in /.test(error.message) && hubReference(reference))
      return undefined
    throw error
  }
  const { directory, name } = found
  const known = await describeModel(directory, { disk })
  requireShapes(known.tensors, known.spec)
  return { directory, name, ...known }
}

/** Throws unless the tensors have the names and shapes that config.json implies. */
function requireShapes(tensors: WeightSource['tensors'], spec: DecoderSpec): void {
  for (const [name, shape] of parameterShapes(spec)) {
    const found = tensors.get(name)?.shape
    if (found?.join() === shape.join()) continue
    const problem = found ? `has shape [${found}], config.json implies [${shape}]` : 'is missing'
    throw new WaggleError('E_MODEL', `tensor "${name}" ${problem}`, {
      hint: 'config.json does not match the weights.',
    })
  }
}
