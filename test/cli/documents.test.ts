import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorHelp } from '../../daemon/cli/help-text.ts'
import { parseCommandLine } from '../../daemon/cli/parse.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { configKeys } from '../../daemon/config/keys.ts'
import { ERROR_HELP } from '../../protocol/error-help.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/errors.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const OURS = ['operating.md', 'control-api.md', 'troubleshooting.md'].map((name) => join('docs', name))
const pages = [
  ...OURS,
  ...readdirSync(join(ROOT, 'docs/reference')).map((name) => join('docs/reference', name)),
]
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8')

describe.each(pages)('%s', (page) => {
  test('links to what is there', () => {
    for (const [, target] of read(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      if (!/^https?:/.test(target!)) expect(existsSync(join(ROOT, dirname(page), target!)), target).toBe(true)
    }
  })

  test('has only commands that the program understands', () => {
    const blocks = [...read(page).matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block!)
    for (const line of blocks.join('').split('\n')) {
      const match = /^waggle (.+?)(?: > \S+)?$/.exec(line)
      if (!match) continue
      const words = match[1]!.match(/'[^']*'|"[^"]*"|\S+/g)!.map((word) => word.replace(/^['"]|['"]$/g, ''))
      expect(() => parseCommandLine(words, {}, COMMANDS), line).not.toThrow()
    }
  })

  test('names only keys that the config has', () => {
    const known = configKeys().map(({ path }) => path)
    const sections = new Set(known.map((path) => path.split('.')[0]))
    for (const [, path] of read(page).matchAll(/`([a-z]+\.[a-z_]+)`/g)) {
      if (sections.has(path!.split('.')[0]) && !path!.endsWith('.toml')) expect(known).toContain(path)
    }
  })
})

test('every code has its likely causes and what to do, on the page and in help', () => {
  const page = read('docs/reference/errors.md')
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const help = errorHelp(code).join(' ').replaceAll(/\s+/g, ' ')
    expect(page).toContain(`## ${code}\n`)
    expect(ERROR_HELP[code].length, code).toBeGreaterThan(0)
    for (const { cause, cure } of ERROR_HELP[code]) {
      expect(`${cause} ${cure}`, code).toMatch(/^[A-Z`].+\. .+\.$/)
      expect(help).toContain(cause)
    }
  }
})
