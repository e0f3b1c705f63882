// A mistake in the config as a Problem, with its location and what to do.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Loaded } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'

type OriginOf = Loaded['originOf']

/** Located at the path, or at its parent if only that was set. */
export function problemAt(path: readonly (string | number)[], message: string, originOf: OriginOf): Problem {
  return { where: originOf(path) ?? originOf(path.slice(0, -1)) ?? '', path: path.join('.'), message }
}

/** Runs a check and turns a WaggleError into a problem. Other errors are bugs and are rethrown. */
export async function attempt(
  path: readonly (string | number)[],
  originOf: OriginOf,
  check: () => Promise<unknown> | unknown,
): Promise<Problem[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    const { message, hint } = error
    // A list of mistakes needs no hint.
    const isList = hint === undefined || message.includes('\n')
    const { key, file } = (error.data ?? {}) as { key?: string; file?: string }
    const at = key === undefined ? path : path.with(-1, key)
    const problem = problemAt(at, isList ? message : `${message}. ${hint}`, originOf)
    return [file === undefined ? problem : { ...problem, file }]
  }
}
