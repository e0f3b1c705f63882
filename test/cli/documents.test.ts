import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseCommandLine } from '../../daemon/cli/parse.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { configKeys } from '../../daemon/config/keys.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'

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

test('troubleshooting has every code', () => {
  const text = read('docs/troubleshooting.md')
  for (const code of Object.keys(ERROR_CODES)) expect(text).toContain(`\`${code}\``)
})
