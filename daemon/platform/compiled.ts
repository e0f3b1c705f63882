// What Node.js has compiled is kept on disk, so that the next start does not compile it again. In a checkout this is also
// the TypeScript without its types. Not in the folder for temporary files, which Node.js would take: there, another user
// could put other code in its place.

import { enableCompileCache, flushCompileCache } from 'node:module'
import { isAbsolute, join } from 'node:path'

export interface CacheEnvironment {
  env: Readonly<Record<string, string | undefined>>
  homedir: string
}

/** For files that can be made or downloaded again. The XDG specification requires that a relative path is ignored. */
export function cacheFolder({ env, homedir }: CacheEnvironment): string {
  const given = env.XDG_CACHE_HOME
  return join(given && isAbsolute(given) ? given : join(homedir, '.cache'), 'waggle')
}

/**
 * About 8 MB. Where nothing can be written, each start compiles. What the user has set stays, and NODE_DISABLE_COMPILE_CACHE=1
 * turns it off.
 */
export function keepCompiled(env: Record<string, string | undefined>, homedir: string): void {
  // The engines' threads read it there.
  env.NODE_COMPILE_CACHE ??= join(cacheFolder({ env, homedir }), 'compiled')
  enableCompileCache(env.NODE_COMPILE_CACHE)
}

/** Node.js itself writes only when a process ends, and a node may be killed. */
export const saveCompiled = (): void => flushCompileCache()
