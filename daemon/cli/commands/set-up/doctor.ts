// waggle doctor: checks everything that training needs, and says how to fix problems.

import { EXIT } from '../../../../protocol/errors.ts'
import type { Config } from '../../../config/schema.ts'
import type { Context } from '../../contract.ts'
import { device } from '../../doctor/device.ts'
import { engineAtWork } from '../../doctor/engine.ts'
import type { Check, Finding, Patient } from '../../doctor/finding.ts'
import { machineHere } from '../../doctor/here.ts'
import { clock, disk, graphics, limits, memory, preset, processors, runtime } from '../../doctor/machine.ts'
import { model } from '../../doctor/model.ts'
import { peers, ports, reachability } from '../../doctor/network.ts'
import { config, daemon, home, plugins, socket } from '../../doctor/node.ts'
import { contextConfig } from '../../load-config.ts'

const CHECKS: readonly Check[] = [
  runtime,
  processors,
  memory,
  preset,
  limits,
  disk,
  clock,
  graphics,
  device,
  config,
  home,
  socket,
  model,
  engineAtWork,
  plugins,
  daemon,
  ports,
  reachability,
  peers,
]

export async function run(context: Context): Promise<number> {
  const patient: Patient = {
    context,
    config: readConfig(context),
    here: await machineHere(),
    daemon: await context.client.snapshot().catch(() => undefined),
  }
  const findings: Finding[] = []
  for (const check of CHECKS) {
    try {
      findings.push(...(await check(patient)))
    } catch (error) {
      // A check that throws is a bug; the other checks still run.
      findings.push({
        what: check.name,
        level: 'fail',
        fact: `could not be checked: ${(error as Error).message}`,
      })
    }
  }
  if (context.json) context.out(JSON.stringify({ v: 1, findings }))
  else for (const line of findings.flatMap((finding) => lines(finding, context))) context.out(line)
  return findings.some(({ level }) => level === 'fail') ? EXIT.doctor : EXIT.ok
}

function readConfig(context: Context): Config | undefined {
  try {
    return contextConfig({ ...context, say: () => {} }).config
  } catch {
    return undefined
  }
}

function lines({ what, level, fact, fix }: Finding, { color, io }: Context): string[] {
  const hue = { ok: 75, warn: 214, fail: 202 }[level]
  const word = level.padEnd(4)
  const mark = color.stdout ? `\u001b[38;5;${hue}m${word}\u001b[39m` : word
  const shown = fix?.replaceAll('`waggle ', `\`${io.program} `)
  return [
    `${mark}  ${what.padEnd(11)} ${fact}`,
    ...(shown === undefined ? [] : [`${' '.repeat(18)}${shown}`]),
  ]
}
