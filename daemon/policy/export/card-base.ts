// The base model as a model card names it: by name and hashes, never by a path of this machine.

import { createHash } from 'node:crypto'
import type { Disk } from '../../store/disk.ts'
import { baseFacts } from '../files/base-facts.ts'
import { hubNameOf } from '../sources/reference.ts'
import type { TrainedBase } from '../trained.ts'
import type { CardBase } from './model-card.ts'

const PIECE_BYTES = 4 * 1024 * 1024

/** `directory` is where the model is now. What the record lacks is read there. */
export async function cardBase(
  { name, title, license, commit, directory }: TrainedBase,
  { disk }: { disk: Disk },
): Promise<CardBase> {
  const found = await baseFacts({ name, directory }, { disk })
  const known = license ?? found.license
  const fileDigest = await digestOfFile(directory, disk)
  return {
    title: title ?? found.title,
    hub: hubNameOf(name),
    commit,
    ...(known === undefined ? {} : { license: known }),
    ...(fileDigest === undefined ? {} : { fileDigest }),
  }
}

/** Undefined for a folder. */
async function digestOfFile(path: string, disk: Disk): Promise<string | undefined> {
  const real = await disk.realPath(path)
  if ((await disk.stat(real))?.kind !== 'file') return undefined
  const file = await disk.open(real, 'read')
  try {
    const hash = createHash('sha256')
    const piece = new Uint8Array(PIECE_BYTES)
    let at = 0
    for (let got = await file.read(piece, at); got > 0; got = await file.read(piece, at)) {
      hash.update(piece.subarray(0, got))
      at += got
    }
    return hash.digest('hex')
  } finally {
    await file.close()
  }
}
