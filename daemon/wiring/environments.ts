// Reads what environments need of this machine: the rows of those whose server does not have the tasks.

import { readFile } from 'node:fs/promises'
import { WaggleError } from '../../protocol/errors.ts'
import { type Row, rowsIn } from '../agents/index.ts'
import type { Config } from '../config/schema.ts'
import { explainErrno } from '../store/disk.ts'

/** None for an environment without a dataset. Throws E_DATASET. */
export async function readRows({ dataset }: Config['environments'][number]): Promise<Row[]> {
  if (dataset === undefined) return []
  const text = await readFile(dataset, 'utf8').catch((cause) => {
    throw new WaggleError('E_DATASET', `cannot read ${dataset}: ${explainErrno(cause)}`, {
      hint: 'Check `dataset` in [[environments]].',
      cause,
    })
  })
  return rowsIn(text, dataset)
}
