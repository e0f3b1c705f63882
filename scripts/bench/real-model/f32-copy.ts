// A GGUF file with the same values as F32: what is left between two programs when neither rounds weights.

import { open as openFile } from 'node:fs/promises'
import { openGguf } from '../../../daemon/policy/gguf/read.ts'
import { encodeGguf, type GgufTensor } from '../../../daemon/policy/gguf/write.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'

export async function writeF32(from: string, to: string): Promise<void> {
  const file = await openGguf({ path: from }, { disk })
  const tensors = new Map<string, GgufTensor>()
  for (const [name, { shape }] of file.tensors)
    tensors.set(name, { shape, type: 'F32', data: () => file.readFloat32(name) })
  const metadata = new Map([...file.encoded].filter(([key]) => key !== 'general.alignment'))
  const target = await openFile(to, 'w')
  for await (const piece of encodeGguf({ metadata, tensors }).content) await target.write(piece)
  await target.close()
  await file.close()
}
