// What Node.js has compiled is kept on disk, so that the next start does not compile it again. In a checkout this is also
// the TypeScript without its types. Not in the folder for temporary files, which Node.js would take: there, another user
// could put other code in its place.

import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { xdgFolder } from './xdg.ts'

/**
 * About 8 MB. Where nothing can be written, each start compiles. What the user has set stays, and NODE_DISABLE_COMPILE_CACHE=1
 * turns it off.
 */
export function keepCompiled(env: Record<string, string | undefined>, homedir: string): void {
  // The engines' threads read it there.
  env.NODE_COMPILE_CACHE ??= join(xdgFolder({ env, homedir }, 'XDG_CACHE_HOME', '.cache'), 'compiled')
  enableCompileCache(env.NODE_COMPILE_CACHE)
}

/** Node.js itself writes only when a process ends, and a node may be killed. */
export const saveCompiled = (): void => flushCompileCache()
