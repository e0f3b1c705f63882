// waggle plugins check PLUGIN: runs the conformance tests on one plugin.

import { WaggleError } from '../../../protocol/errors.ts'
import { conformance } from '../../../protocol/plugin/testing/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'
import { findPlugin } from './source.ts'

export async function conform(context: Context): Promise<number> {
  const plugin = await findPlugin(context, context.arguments[1]!)
  const id = `${plugin.kind}/${plugin.name}`
  const results: { check: string; ok: boolean; message?: string }[] = []
  for (const { name, run } of conformance(plugin)) {
    const message = await run().then(() => undefined, reason)
    results.push({
      check: name.slice(id.length + 1),
      ok: message === undefined,
      ...(message === undefined ? {} : { message }),
    })
  }
  const failed = results.filter(({ ok }) => !ok)
  if (context.json)
    context.out(JSON.stringify({ v: 1, plugin: id, ok: failed.length === 0, checks: results }))
  else for (const { check, ok } of results) context.out(`${ok ? 'ok  ' : 'FAIL'}  ${check}`)
  if (failed.length === 0) return 0
  throw new WaggleError(
    'E_PLUGIN',
    failed.map(({ check, message }) => `${id} ${check}: ${message}`).join('\n'),
    {
      hint: 'docs/plugins.md explains each of these tests.',
    },
  )
}

/** Shortened, because a comparison of two transcripts is long. */
function reason(error: unknown): string {
  return safeText(error instanceof Error ? error.message : String(error), { limit: 400 })
}
