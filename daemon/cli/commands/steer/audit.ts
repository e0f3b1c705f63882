// waggle audit: computes a step behind trained weights again, and says whether it is the one that was claimed.

import type { AuditedStep, AuditResult } from '../../../../protocol/api/index.ts'
import { EXIT } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { createProgressLine } from '../../text/progress.ts'

export async function run(context: Context): Promise<number> {
  const { options, client, json, out } = context
  const [peer] = context.arguments
  const progress = createProgressLine(context)
  const result = await client
    .send(
      'audit',
      {
        ...(peer === undefined ? {} : { peer }),
        ...(options.all ? { all: true } : {}),
      },
      { onProgress: progress.show },
    )
    .finally(progress.end)
  if (json) out(JSON.stringify({ v: 1, ...result }))
  else for (const line of linesOf(result)) out(line)
  return hasFailed(result) ? EXIT.unexpected : EXIT.ok
}

const hasFailed = ({ audited, head }: AuditResult): boolean =>
  head === 'failed' || audited.some(({ outcome }) => outcome === 'failed')

function linesOf({ name, isOwn, steps, audited, head, build, ownBuild }: AuditResult): string[] {
  const who = isOwn ? 'this node' : safeText(name, { line: true, limit: 64 })
  const builds = build === ownBuild ? build : `${build}; computed again by ${ownBuild}`
  return [
    `${who}: a receipt of ${plural(steps, 'step')}, ${safeText(builds, { line: true, limit: 300 })}`,
    ...audited.map((step) => `  step ${step.step}: ${stepText(step)}`),
    ...(head ? [`  newest weights: ${HEADS[head]}`] : []),
  ]
}

const HEADS: Record<AuditResult['head'] & {}, string> = {
  passed: 'passed, they are those that the receipt names',
  failed: 'FAILED, they are others than those that the receipt names',
  unserved: 'not served',
}

function stepText(step: AuditedStep): string {
  const { outcome, own, foreign, joined, isReplaced, isSame, difference, detail } = step
  const said = detail === undefined ? '' : `: ${safeText(detail, { line: true, limit: 500 })}`
  const batch = `${plural(own, 'own group')}, ${foreign} of peers`
  const before =
    joined > 0
      ? `, after ${plural(joined, 'head')} of peers`
      : isReplaced
        ? ', after a trial or a roll-back'
        : ''
  const apart = isSame
    ? 'bit for bit'
    : `cosine ${difference?.cosine.toFixed(6)}, ${(100 * (difference?.movement ?? 0)).toPrecision(2)} % apart`
  switch (outcome) {
    case 'passed':
      return `passed, ${apart} (${batch}${before})`
    case 'failed':
      return `FAILED${said}`
    case 'unauditable':
      return `cannot be audited${said}`
    case 'unserved':
      return `not served${said}`
  }
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
