// waggle env: facts for a bug report. Secrets and the home directory's path are removed.

import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { availableParallelism, cpus, freemem, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bytes, type Snapshot } from '../../../../protocol/api/index.ts'
import { VERSION } from '../../../../protocol/package.ts'
import { redacted } from '../../../control/journal/log-file.ts'
import { findOnnxruntime } from '../../../platform/onnxruntime.ts'
import type { Context } from '../../contract.ts'
import { contextConfig } from '../../load-config.ts'

const DEPENDENCIES = ['libp2p', '@libp2p/gossipsub', 'level', 'zod', 'ink']

export async function run(context: Context): Promise<number> {
  const shown = factsOf(context, await context.client.snapshot().catch(() => undefined))
  if (context.json) context.out(JSON.stringify(shown))
  else for (const line of textOf(shown)) context.out(line)
  return 0
}

/** Versions, machine, config and state of the daemon, without secrets. */
export function factsOf(context: Context, snapshot: Snapshot | undefined): Record<string, unknown> {
  const { io, paths } = context
  const facts: Record<string, unknown> = {
    waggle: VERSION,
    node: `${process.versions.node} (${process.execPath})`,
    system: `${process.platform} ${process.arch} ${release()}`,
    cpu: `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memory: `${bytes(freemem())} free of ${bytes(totalmem())}`,
    terminal:
      `${io.env.TERM ?? 'none'}${io.env.COLORTERM ? ` ${io.env.COLORTERM}` : ''} ${io.env.LANG ?? ''}`.trim(),
    packages: Object.fromEntries(
      [onnxruntime(), ...DEPENDENCIES].map((name) => [name, versionOf(io.packageRoot, name)]),
    ),
    variables: variables(io.env),
    paths,
    config: configOf(context),
    daemon: snapshot
      ? {
          state: snapshot.state,
          step: snapshot.training?.step,
          engine: snapshot.engine,
          plugins: snapshot.plugins?.map((p) => `${p.kind}/${p.name} ${p.state}`),
          peers: snapshot.swarm?.connected,
          alerts: snapshot.alerts?.map((a) => a.message),
        }
      : 'not running',
  }
  return presentable({ v: 1, ...facts }, io.homedir)
}

/** The value without secrets, and with `~` for the home directory. */
export const presentable = <T>(value: T, homedir: string): T => anonymous(redacted(value), homedir)

function onnxruntime(): string {
  try {
    return findOnnxruntime().name
  } catch {
    return 'onnxruntime-node'
  }
}

/** Version of the package that this Waggle loads, wherever npm put it. */
export function versionOf(root: string, name: string): string {
  try {
    const path = findPackageJSON(name, pathToFileURL(join(root, 'package.json')))
    return (JSON.parse(readFileSync(path!, 'utf8')) as { version: string }).version
  } catch {
    return 'not found'
  }
}

/** The variables that affect Waggle; others may be private. */
function variables(env: Context['io']['env']): Record<string, string> {
  const wanted = /^(WAGGLE_|XDG_|NO_COLOR$|FORCE_COLOR$|NODE_OPTIONS$|CUDA_VISIBLE_DEVICES$)/
  return Object.fromEntries(
    Object.entries(env).filter(
      (pair): pair is [string, string] => wanted.test(pair[0]) && pair[1] !== undefined,
    ),
  )
}

function configOf(context: Context): unknown {
  try {
    return contextConfig({ ...context, say: () => {} }).config
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.trim())
  }
}

function anonymous<T>(value: T, homedir: string): T {
  if (typeof value === 'string') return value.replaceAll(homedir, '~') as T
  if (Array.isArray(value)) return value.map((inner) => anonymous(inner, homedir)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, anonymous(inner, homedir)]),
  ) as T
}

function textOf(facts: object): string[] {
  return Object.entries(facts).flatMap(([key, value]) => {
    if (key === 'v' || value === undefined) return []
    if (typeof value !== 'object' || value === null) return [`${key.padEnd(10)} ${value}`]
    return [
      key,
      ...Object.entries(value).flatMap(([name, inner]) =>
        inner === undefined
          ? []
          : [`  ${name.padEnd(20)} ${typeof inner === 'string' ? inner : JSON.stringify(inner)}`],
      ),
    ]
  })
}
