// Keeps Node.js's compile cache on disk, so that the next start need not compile again. In a checkout, it also has the
// TypeScript with types stripped. It is not in the temporary folder, Node.js's default, where another user could
// replace the code.

import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { xdgFolder } from './xdg.ts'

/**
 * Takes about 8 MB. If the folder cannot be written, every start compiles. A folder set by the user is kept, and
 * NODE_DISABLE_COMPILE_CACHE=1 turns the cache off.
 */
export function keepCompiled(env: Record<string, string | undefined>, homedir: string): void {
  // Set as a variable, so that the engines' threads use it too.
  env.NODE_COMPILE_CACHE ??= join(xdgFolder({ env, homedir }, 'XDG_CACHE_HOME', '.cache'), 'compiled')
  enableCompileCache(env.NODE_COMPILE_CACHE)
}

/** Node.js itself writes the cache only when a process exits, but a node may be killed. */
export const saveCompiled = (): void => flushCompileCache()
