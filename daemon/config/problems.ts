// Turns the problems of a config into an error message: where, what, and a suggestion.

import type { z } from 'zod'
import { WaggleError } from '../../protocol/errors.ts'
import { issueText, type SchemaIssue } from '../../protocol/issue-text.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import { safeText } from '../../protocol/text.ts'
import { configSchema } from './schema.ts'
import type { Layers, Problem } from './sources.ts'

/** Keys of earlier versions, with their replacements. */
const RETIRED: Record<string, string> = {
  'swarm.mdns': 'was replaced by swarm.lan: use lan = "off" instead of mdns = false',
}

/** An E_CONFIG error with all problems, in the order of the file. */
export function invalidConfig(file: string, problems: readonly Problem[]): WaggleError {
  const one = problems.length === 1
  const isElsewhere = problems.every((problem) => problem.file !== undefined)
  const what = isElsewhere ? 'what the config names has' : 'the config has'
  const ordered = [...problems].sort((a, b) => lineIn(a) - lineIn(b))
  const rows = ordered.map((problem) => `  ${partsOf(problem).join('  ').replaceAll('\n', '\n  ')}`)
  const text =
    one && isTyped(problems[0]!)
      ? partsOf(problems[0]!).join(': ')
      : `${what} ${one ? 'a problem' : `${problems.length} problems`}\n${rows.join('\n')}`
  return new WaggleError('E_CONFIG', safeText(text, { limit: 16_384 }), {
    hint: `${cureOf(file, problems)} \`waggle help config\` explains every key.`,
    data: { problems: ordered },
  })
}

/** Where, which key, and what is wrong with it. `--set key` has named the key. */
export const partsOf = ({ where, path, message }: Problem): string[] =>
  [where, where.endsWith(path) ? '' : path, message].filter(Boolean)

/** Of the command line. */
const isTyped = ({ where }: Problem): boolean => where.startsWith('--') || where.startsWith('set ')

/** Says where to correct the values. */
function cureOf(file: string, problems: readonly Problem[]): string {
  const flags = problems.filter(isTyped)
  const variables = problems.filter(({ where }) => where.startsWith('WAGGLE_'))
  const names = [...new Set(variables.map(({ where }) => where))].join(', ')
  const rest = problems.filter((one) => !flags.includes(one) && !variables.includes(one))
  const files = [...new Set(rest.map((one) => one.file ?? file))].join(' and ')
  const places = [
    ...(flags.length > 0 ? ['Correct the command line.'] : []),
    ...(variables.length > 0 ? [`Correct or unset ${names}.`] : []),
    ...(rest.length > 0 ? [`Edit ${files}, then run \`waggle config check\`.`] : []),
  ]
  return places.join(' ')
}

/** Line in the file. Problems elsewhere sort last. */
function lineIn({ where }: Problem): number {
  return Number(/:(\d+)/.exec(where)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** Turns an issue of the schema into problems. */
export function explain(issue: z.core.$ZodIssue, { originOf }: Layers): Problem[] {
  const path = issue.path.join('.')
  // A missing key has no line, so its table's line is used.
  const where = originOf(issue.path) ?? originOf(issue.path.slice(0, -1)) ?? ''
  if (issue.code === 'unrecognized_keys') {
    const known = siblings(issue.path)
    return issue.keys.map((key) => {
      const whole = [...issue.path, key].join('.')
      const instead = RETIRED[whole]
      return {
        where: originOf([...issue.path, key]) ?? where,
        path: whole,
        message: instead ?? `there is no such key.${didYouMean(key, known)}`,
      }
    })
  }
  const given =
    issue.code === 'invalid_value' && typeof issue.input === 'string'
      ? didYouMean(issue.input, issue.values.map(String))
      : ''
  const text = issueText(issue as SchemaIssue)
  return [{ where, path, message: issue.code === 'invalid_value' ? `${text}.${given}` : text }]
}

/** The keys that the schema knows at a path. */
function siblings(path: readonly PropertyKey[]): string[] {
  let at: unknown = configSchema
  for (const part of path) {
    at = unwrap(at)
    at =
      typeof part === 'number'
        ? (at as { element?: unknown }).element
        : (at as { shape?: Record<PropertyKey, unknown> }).shape?.[part]
  }
  return Object.keys((unwrap(at) as { shape?: object } | undefined)?.shape ?? {})
}

function unwrap(schema: unknown): unknown {
  let at = schema as { def?: { innerType?: unknown } } | undefined
  while (at?.def?.innerType) at = at.def.innerType as typeof at
  return at
}
