// The token of a hub account, from where Hugging Face's own tools have it: HF_TOKEN, or the file that `hf auth login`
// writes.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hubHome } from './cache.ts'

/** Undefined if there is none. */
export function hubToken(env: NodeJS.ProcessEnv, homedir: string): string | undefined {
  if (env.HF_TOKEN) return env.HF_TOKEN
  try {
    return readFileSync(env.HF_TOKEN_PATH || join(hubHome(env, homedir), 'token'), 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
