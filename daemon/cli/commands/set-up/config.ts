// waggle config: shows the effective config and the source of each value, or checks it.

import { stringify } from 'smol-toml'
import { safeText } from '../../../../protocol/text.ts'
import { configKeys } from '../../../config/keys.ts'
import type { DatasetFacts } from '../../../wiring/datasets.ts'
import { checkedConfig } from '../../checked-config.ts'
import type { Context } from '../../contract.ts'
import { contextConfig } from '../../load-config.ts'

export async function run(context: Context): Promise<number> {
  const action = context.arguments[0] ?? 'show'
  if (action === 'path') {
    context.out(context.json ? JSON.stringify({ v: 1, ...context.paths }) : context.paths.config)
    return 0
  }
  const { config, file, originOf } =
    action === 'check' ? await checkedConfig(context) : contextConfig(context)
  if (action === 'check') {
    const where = file ?? 'defaults only, since there is no config file'
    const { datasetText, loadTasks } = await import('../../../wiring/datasets.ts')
    const datasets: DatasetFacts[] = []
    const { datasetParts } = await import('../../model/locate.ts')
    await loadTasks(config.tasks, {
      onDataset: (facts) => datasets.push(facts),
      ...datasetParts(context),
    })
    if (context.json) context.out(JSON.stringify({ v: 1, ok: true, file: file ?? null, datasets }))
    else
      for (const line of [where, ...datasets.map(datasetText)])
        context.out(`ok  ${safeText(line, { line: true })}`)
    return 0
  }
  if (context.json) {
    const origins = configKeys().map(({ path }) => [path, originOf(path.split('.')) ?? 'default'])
    context.out(
      JSON.stringify({
        v: 1,
        config,
        ...(context.options.origin ? { origins: Object.fromEntries(origins) } : {}),
      }),
    )
    return 0
  }
  if (context.options.origin !== true) {
    context.out(stringify(config).trimEnd())
    return 0
  }
  for (const { path } of configKeys()) {
    const value = path
      .split('.')
      .reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], config)
    const text = value === undefined ? '(unset)' : inline(value)
    context.out(`${`${path} = ${text}`.padEnd(60)}  # ${originOf(path.split('.')) ?? 'default'}`)
  }
  return 0
}

/** A value on one line, as TOML writes it. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .filter(([, v]) => v !== undefined)
      .map(([key, v]) => `${key} = ${inline(v)}`)
      .join(', ')} }`
  }
  return JSON.stringify(value)
}
