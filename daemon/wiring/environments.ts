// Reads the dataset rows of environments whose server does not have the tasks itself.

import { readFile, stat } from 'node:fs/promises'
import { WaggleError } from '../../protocol/errors.ts'
import { type Row, rowsIn } from '../agents/index.ts'
import type { Config } from '../config/schema.ts'
import { explainErrno } from '../store/disk.ts'

const MAX_BYTES = 256 << 20

/** Empty for an environment without a dataset. Rejects with E_DATASET. */
export async function readRows({ dataset }: Config['environments'][number]): Promise<Row[]> {
  if (dataset === undefined) return []
  const refuse = (reason: string, cause?: unknown): never => {
    throw new WaggleError('E_DATASET', `cannot read ${dataset}: ${reason}`, {
      hint: 'Check `dataset` in [[environments]].',
      cause,
    })
  }
  const found = await stat(dataset).catch((cause) => refuse(explainErrno(cause), cause))
  if (!found.isFile()) refuse('it is not a file')
  if (found.size > MAX_BYTES) refuse(`it has more than ${MAX_BYTES >> 20} MiB`)
  const text = await readFile(dataset, 'utf8').catch((cause) => refuse(explainErrno(cause), cause))
  return rowsIn(text, dataset)
}
