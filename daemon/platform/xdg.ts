// Waggle's folders in a user's home, by the XDG base directory specification.

import { isAbsolute, join } from 'node:path'

interface XdgEnvironment {
  env: Readonly<Record<string, string | undefined>>
  homedir: string
}

/** `waggle` in the folder that the variable names, or in the home's `fallback`. The XDG spec ignores relative paths. */
export function xdgFolder({ env, homedir }: XdgEnvironment, variable: string, fallback: string): string {
  const given = env[variable]
  return join(given && isAbsolute(given) ? given : join(homedir, fallback), 'waggle')
}
