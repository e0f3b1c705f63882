// Where a record comes from: the commit, the machine and the versions that made it.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'

export interface Provenance {
  commit: string
  /** Whether files differed from the commit. */
  dirty: boolean
  /** ISO 8601, UTC. */
  date: string
  node: string
  machine: string
  /** Versions of the packages that compute. */
  versions: Record<string, string>
  flags: readonly string[]
}

const ROOT = new URL('../../../', import.meta.url)
const COMPUTE = ['onnxruntime-node', '@huggingface/tokenizers']

export function provenance(flags: readonly string[], now: () => number): Provenance {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return {
    commit: git('rev-parse', 'HEAD'),
    dirty: git('status', '--porcelain', '--untracked-files=no') !== '',
    date: new Date(now()).toISOString(),
    node: process.version,
    machine: `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    versions: Object.fromEntries(COMPUTE.map((name) => [name, dependencies[name] ?? 'absent'])),
    flags: [...flags],
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
