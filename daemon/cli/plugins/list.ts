// waggle plugins list: the plugins to try first and the configured ones, with what each needs; `list more`: the others,
// with what was measured of each.

import { safeText } from '../../../protocol/text.ts'
import { slotsOf } from '../../host/hooks/together.ts'
import { factsOf } from '../../host/host.ts'
import { EVIDENCE, FIRST, PLUGINS } from '../../wiring/built-in.ts'
import type { Context } from '../contract.ts'
import { tableText } from '../text/table-text.ts'
import { configured } from './configured.ts'

export async function list(context: Context, isMore: boolean): Promise<number> {
  const { active } = await configured(context)
  const used = new Set(active.map(({ id }) => id))
  const rest = PLUGINS.filter(({ kind, name }) => !used.has(`${kind}/${name}`)).map((plugin) => {
    const settings = plugin.settings['~standard'].validate({}) as { value?: unknown; issues?: unknown }
    // Plugins with required settings are described by their manifests alone.
    const hooks = settings.issues ? {} : plugin.create(settings.value)
    return { used: false, ...factsOf({ plugin, hooks }), slots: slotsOf({ plugin, hooks }) }
  })
  const all = [...active.map((one) => ({ used: true, ...factsOf(one) })), ...rest].map((one) => {
    const id = `${one.kind}/${one.name}`
    return { ...one, first: one.used || FIRST.has(id), shown: EVIDENCE[id] ?? null }
  })
  if (context.json) {
    context.out(JSON.stringify({ v: 1, plugins: all }))
    return 0
  }
  const shown = all.filter(({ first }) => first !== isMore)
  const rows = shown.map(({ used: isUsed, kind, name, needs, slots, summary, shown: evidence }) => [
    ...(isMore ? [] : [isUsed ? '*' : '']),
    kind,
    safeText(name, { line: true }),
    needs.join(' ') || '-',
    ...(isMore ? [] : [slots.join(' ') || '-']),
    safeText(isMore ? `${summary} Measured: ${evidence ?? 'no'}.` : summary, { line: true, limit: 200 }),
  ])
  const head = isMore ? ['KIND', 'NAME', 'NEEDS', 'WHAT'] : ['', 'KIND', 'NAME', 'NEEDS', 'TAKES', 'WHAT']
  for (const line of tableText(head, rows)) context.out(line)
  if (!isMore)
    context.say(`* used by the config; ${all.length - shown.length} more: \`waggle plugins list more\``)
  return 0
}
