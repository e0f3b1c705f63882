// waggle plugins list: all built-in and configured plugins, with what each needs.

import { safeText } from '../../../protocol/text.ts'
import { slotsOf } from '../../host/hooks/together.ts'
import { factsOf } from '../../host/host.ts'
import { PLUGINS } from '../../wiring/built-in.ts'
import type { Context } from '../context.ts'
import { tableText } from '../text/table-text.ts'
import { configured } from './configured.ts'

export async function list(context: Context): Promise<number> {
  const { active } = await configured(context)
  const used = new Set(active.map(({ id }) => id))
  const rest = PLUGINS.filter(({ kind, name }) => !used.has(`${kind}/${name}`)).map((plugin) => {
    const settings = plugin.settings['~standard'].validate({}) as { value?: unknown; issues?: unknown }
    // Plugins with required settings are described by their manifests alone.
    const hooks = settings.issues ? {} : plugin.create(settings.value)
    return { used: false, ...factsOf({ plugin, hooks }), slots: slotsOf({ plugin, hooks }) }
  })
  const all = [...active.map((one) => ({ used: true, ...factsOf(one) })), ...rest]
  if (context.json) {
    context.out(JSON.stringify({ v: 1, plugins: all }))
    return 0
  }
  const rows = all.map(({ used: isUsed, kind, name, needs, slots, summary }) => [
    isUsed ? '*' : '',
    kind,
    safeText(name, { line: true }),
    needs.join(' ') || '-',
    slots.join(' ') || '-',
    safeText(summary, { line: true, limit: 100 }),
  ])
  for (const line of tableText(['', 'KIND', 'NAME', 'NEEDS', 'TAKES', 'WHAT'], rows)) context.out(line)
  context.say('* used by the config')
  return 0
}
