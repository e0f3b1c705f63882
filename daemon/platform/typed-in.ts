// The folder in which a command was typed. `npm run` and `npm start` change to the package's folder first, so that
// relative paths would be relative to a checkout of this program and not to where its user is.

import { resolve } from 'node:path'

/** `cwd`, unless npm runs a script of the package at `root`, whose INIT_CWD is then meant. */
export function typedIn({ cwd, env, root }: { cwd: string; env: NodeJS.ProcessEnv; root: string }): string {
  const { INIT_CWD: from, npm_package_json: description } = env
  if (!from || !description) return cwd
  return resolve(cwd) === resolve(root) && resolve(description) === resolve(root, 'package.json') ? from : cwd
}
