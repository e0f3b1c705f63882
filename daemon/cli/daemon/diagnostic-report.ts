// Writes a file that shows what a node is doing or waiting for: versions, config, state, recent events, and the
// process's memory and open resources. It has no rollout texts and no secrets, and only its owner can read it.

import { mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapSpaceStatistics } from 'node:v8'
import type { NodeHandle } from '../../control/node/node.ts'
import { factsOf, presentable } from '../commands/set-up/env.ts'
import type { Context } from '../contract.ts'

const EVENTS = 300
const KEPT = 10

/** Returns the path. */
export function writeReport(context: Context, node: NodeHandle): string {
  const { io, paths } = context
  const snapshot = node.snapshot()
  const last = node.events.last
  const { events } = node.events.since(Math.max(0, last - EVENTS))
  const resources: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  const report = presentable(
    {
      v: 1,
      time: new Date(io.clock()).toISOString(),
      facts: factsOf(context, snapshot),
      snapshot,
      events: events.filter(({ type }) => type !== 'group'),
      process: {
        uptimeSeconds: process.uptime(),
        memory: process.memoryUsage(),
        use: process.resourceUsage(),
        resources,
        heap: getHeapSpaceStatistics().map(({ space_name, space_used_size }) => [
          space_name,
          space_used_size,
        ]),
      },
    },
    io.homedir,
  )
  mkdirSync(paths.logs, { recursive: true })
  const name = `diagnostic-${new Date(io.clock()).toISOString().replace(/[:.]/g, '-')}.json`
  const path = join(paths.logs, name)
  writeFileSync(path, `${JSON.stringify(report, undefined, 1)}\n`, { mode: 0o600 })
  forgetOld(paths.logs)
  return path
}

function forgetOld(folder: string): void {
  const found = readdirSync(folder).filter((name) => /^diagnostic-.*\.json$/.test(name))
  for (const name of found.sort().slice(0, -KEPT)) unlinkSync(join(folder, name))
}
