// waggle plugins check PLUGIN: runs the conformance tests on one plugin.

import { WaggleError } from '../../../protocol/errors.ts'
import { conformance } from '../../../protocol/plugin/testing/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'
import { findPlugin } from './source.ts'
import { TOO_LONG, timed } from './timed.ts'

export async function conform(context: Context): Promise<number> {
  const plugin = await findPlugin(context, context.arguments[1]!)
  const id = `${plugin.kind}/${plugin.name}`
  const results: { check: string; ok: boolean; message?: string }[] = []
  for (const { name, run } of conformance(plugin)) {
    const message = await timed(run).then(() => undefined, reason)
    results.push({
      check: name.slice(id.length + 1),
      ok: message === undefined,
      ...(message === undefined ? {} : { message }),
    })
    // The others would take as long.
    if (message?.startsWith(TOO_LONG)) break
  }
  const failed = results.filter(({ ok }) => !ok)
  if (context.json)
    context.out(JSON.stringify({ v: 1, plugin: id, ok: failed.length === 0, checks: results }))
  else for (const { check, ok } of results) context.out(`${ok ? 'ok  ' : 'FAIL'}  ${check}`)
  if (failed.length === 0) return 0
  throw new WaggleError('E_PLUGIN', reasons(failed, id).join('\n'), {
    hint: 'docs/plugins.md explains each of these tests.',
  })
}

/** Each reason once, with the check that it was found by first. */
function reasons(failed: readonly { check: string; message?: string }[], id: string): string[] {
  return [...new Set(failed.map(({ message }) => message))].map((message) => {
    const [first, ...more] = failed.filter((one) => one.message === message)
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`
    return `${id} ${first!.check}${others}: ${message}`
  })
}

/** Shortened, because a comparison of two transcripts is long. */
function reason(error: unknown): string {
  return safeText(error instanceof Error ? error.message : String(error), { limit: 400 })
}
