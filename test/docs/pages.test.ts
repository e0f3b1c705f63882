// What documents refer to exists: links, sections, config keys, commands with their options, npm scripts, paths.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { parseCommandLine } from '../../daemon/cli/parse.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { errorHelp } from '../../daemon/cli/text/help-text.ts'
import { configKeys } from '../../daemon/config/keys.ts'
import { configSchema } from '../../daemon/config/schema.ts'
import { ERROR_HELP } from '../../protocol/error-help.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/errors.ts'
import { blocksOf, commandsOf, PAGES, partsOf, ROOT, read, waggleWords } from './blocks.ts'

const { scripts: SCRIPTS, files: PACKED } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: object
  files: string[]
}
/** Whether npm packs a path; README.md and LICENSE are always packed. `!docs/results/*.jsonl` leaves files out. */
const isPacked = (path: string): boolean =>
  [...PACKED, 'README.md', 'LICENSE'].some((name) => path === name || path.startsWith(`${name}/`)) &&
  !PACKED.some((name) => name.startsWith('!') && matchesGlob(path, name.slice(1)))
/** Programs that the documents use beside Waggle, npm and Node. */
const OTHERS =
  /^(\.\/waggle\S*|tar|alias|cat|cd|cp|curl|docker|git|mkdir|rm|source|ssh|sudo|systemctl|python|vllm|llama-server) /

/** As GitHub makes anchors of headings. */
const anchors = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Throws if the program would not understand it, or if it names what is not there. */
function check(command: string): void {
  const words = waggleWords(command)
  if (words) {
    parseCommandLine(words, {}, COMMANDS)
    return
  }
  const script = /^npm (?:run (?:-s )?)?([\w:-]+)/.exec(command)?.[1]
  if (script) {
    if (!['ci', 'init', 'install', 'pack'].includes(script)) expect(Object.keys(SCRIPTS)).toContain(script)
  } else if (/^(npx|node) /.test(command)) {
    const paths = command.match(/\b(?:test|scripts|daemon|protocol)\/[\w./-]+/g) ?? []
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  } else expect(`${command} `).toMatch(OTHERS)
}

describe.each(PAGES)('%s', (page) => {
  const text = read(page)

  test('links to what is there, and in the package to what is packed', () => {
    for (const [, target] of text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue
      const [file, section] = target!.split('#')
      const path = file ? join(dirname(page), file) : page
      expect(existsSync(join(ROOT, path)), target).toBe(true)
      if (isPacked(page)) expect(isPacked(path), `${target} is not in the package`).toBe(true)
      if (section) expect(anchors(read(path)), target).toContain(section)
    }
  })

  test('names files of the checkout that exist', () => {
    const named = text.matchAll(/`((?:daemon|plugins|protocol|scripts|test|tui|models)\/[\w./-]+)`/g)
    for (const [, path] of named) expect(existsSync(join(ROOT, path!)), path).toBe(true)
  })

  test('names records of results that exist', () => {
    if (!page.startsWith('docs/results')) return
    for (const [, name] of text.matchAll(/`([\w-]+\.jsonl)`/g))
      expect(existsSync(join(ROOT, 'docs/results', name!)), name).toBe(true)
  })

  test('has only commands that exist, with options that they take', () => {
    for (const line of commandsOf(text))
      for (const part of partsOf(line)) expect(() => check(part), line).not.toThrow()
  })

  test('names only keys that the config has', () => {
    const known = configKeys().map(({ path }) => path)
    const sections = new Set(known.map((path) => path.split('.')[0]))
    for (const [, path] of text.matchAll(/`([a-z]+\.[a-z_]+)`/g)) {
      if (sections.has(path!.split('.')[0]) && !/\.(toml|ts|jsonl?)$/.test(path!))
        expect(known).toContain(path)
    }
    for (const { text: toml } of blocksOf(text).filter(({ language }) => language === 'toml'))
      expect(configSchema.safeParse(parseToml(toml)).error?.issues ?? [], toml).toEqual([])
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

test('these checks notice a page that is wrong', () => {
  expect(() => check('waggle up --hoome x')).toThrow('hoome')
  expect(() => check('npm run -s waggle -- peeers')).toThrow('peeers')
  expect(() => check('npm run no-such-script')).toThrow()
  expect(() => check('npx vitest run test/no-such-folder')).toThrow()
  expect(() => check('frobnicate --all')).toThrow()
  expect(commandsOf('```sh\nwaggle up  # why\n```\n\n    waggle join x     text\n')).toEqual([
    'waggle up',
    'waggle join x',
  ])
})
