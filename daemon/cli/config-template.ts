// The config file of `waggle init`: every key as a comment, with its meaning, allowed values and default.

import { SCHEMA_FILE } from '../config/json-schema.ts'
import type { Key } from '../config/keys.ts'
import { wrap } from './text/help-text.ts'

interface TemplateOptions {
  /** Preset to write as a setting instead of a comment. */
  preset?: string | undefined
}

export function configTemplate(
  keys: readonly Key[],
  sections: Record<string, string>,
  { preset }: TemplateOptions = {},
): string {
  const lines = [
    `#:schema ./${SCHEMA_FILE}`,
    '# Waggle. Every key with its default; remove the # to change one.',
    '# `waggle config check` finds mistakes; `waggle config show --origin` prints each value and its source.',
  ]
  // In TOML, keys outside any table must come before the first table.
  const isNone = (key: Key): boolean => Array.isArray(key.default) && key.default.length === 0
  const tables = keys.filter(
    (key) => !key.path.includes('.') && (key.type === 'table' || key.type === 'list') && !isNone(key),
  )
  const plain = keys.filter((k) => !tables.includes(k) && !k.path.includes('.'))
  for (const key of plain) {
    const chosen = key.path === 'preset' ? preset : undefined
    lines.push(
      '',
      ...comment(isNone(key) ? { ...key, range: `as tables at the end of the file` } : key),
      chosen === undefined ? `# ${key.path} = ${sample(key)}` : `${key.path} = ${toml(chosen)}`,
    )
  }
  let section = ''
  for (const key of keys.filter((k) => !tables.includes(k) && !plain.includes(k))) {
    const [head, ...rest] = key.path.split('.') as [string, ...string[]]
    if (head !== section) lines.push('', `# ${sections[head]}`, `[${head}]`)
    section = head
    lines.push(...comment(key), `# ${rest.join('.')} = ${sample(key)}`.trimEnd())
  }
  for (const key of tables) {
    lines.push('', ...comment(key))
    const entries = (key.type === 'list' ? key.default : [key.default]) as Array<
      Record<string, unknown> | undefined
    >
    for (const entry of entries ?? [undefined]) {
      lines.push(key.type === 'list' ? `# [[${key.path}]]` : `# [${key.path}]`)
      for (const [name, value] of Object.entries(entry ?? { use: '' }))
        lines.push(`# ${name} = ${toml(value)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

function comment({ description, choices, range }: Key): string[] {
  const limits = [choices?.join(', '), range].filter(Boolean).join('; ')
  return wrap(`${description}${limits ? ` (${limits})` : ''}`, 100).map((line) => `# ${line}`)
}

const sample = (key: Key): string => (key.default === undefined ? '' : toml(key.default))

const toml = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(toml).join(', ')}]` : JSON.stringify(value)
