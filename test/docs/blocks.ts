// The documents as data: fenced blocks with their language and file name, and the commands in them.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Every page that a reader may type from, relative to the root. */
export const PAGES: readonly string[] = [
  'README.md',
  'llms.txt',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...['daemon', 'protocol', 'plugins', 'scripts', 'tui'].flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('README.md'))
      .map((name) => join(room, name)),
  ),
].sort()

export const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8')

export interface Block {
  language: string
  /** As in ```toml home/config.toml: the reader is to put it there. */
  file: string | undefined
  text: string
}

export function blocksOf(markdown: string): Block[] {
  const blocks = markdown.matchAll(/^```(\w*)[ \t]*(\S*)\n([\s\S]*?)^```$/gm)
  return [...blocks].map(([, language, file, text]) => ({
    language: language!,
    file: file || undefined,
    text: text!,
  }))
}

/** The command lines of shell blocks, and of indented blocks that begin with `waggle` or `npm`; comments taken off. */
export function commandsOf(markdown: string): string[] {
  const fenced = blocksOf(markdown)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.replaceAll(/ *\\\n */g, ' ').split('\n'))
  const outside = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const indented = [...outside.matchAll(/^ {4,7}((?:waggle|npm) .*)$/gm)].map(
    ([, line]) => line!.split(/ {3,}/)[0]!,
  )
  return [...fenced, ...indented]
    .map((line) => line.replace(/(^|\s)# .*$/, '').trim())
    .filter((line) => line !== '')
}

/** What a reader does with a page, in its order: puts a block into a file, or types a line. */
export type Deed = { put: Block } | { type: string }

/**
 * Lines are those of `commandsOf`, and commands within a sentence that are whole: `npm start`, or with a home or a model
 * file.
 */
export function deedsOf(markdown: string): Deed[] {
  const parts = markdown.matchAll(
    /^```(?<language>\w*)[ \t]*(?<file>\S*)\n(?<text>[\s\S]*?)^```$|^ {4,7}(?<line>(?:waggle|npm) .*)$|`(?<inline>(?:npm|waggle) [^`\n]+(?:\n[^`\n]+)?)`/gm,
  )
  return [...parts].flatMap(({ groups }): Deed[] => {
    const { language, file, text, line, inline } = groups!
    if (file) return [{ put: { language: language!, file, text: text! } }]
    if (inline !== undefined) {
      const command = inline.replaceAll('\n', ' ')
      return /^npm (ci && npm )?start|--home \S|--model \S+\.gguf/.test(command) ? [{ type: command }] : []
    }
    const typed = line !== undefined ? `    ${line}\n` : language === 'sh' ? `\`\`\`sh\n${text}\`\`\`\n` : ''
    return commandsOf(typed).map((one) => ({ type: one }))
  })
}

/** The parts of a line that run one after another, without variables set before them. */
export const partsOf = (line: string): string[] =>
  line.split(/\s*&&\s*|\s*;\s*/).map((part) => part.replace(/^(?:[A-Z_]+=\S+ )+/, ''))

/** A command line's words for Waggle, however it is called; undefined if it is another program's. */
export function waggleWords(command: string): string[] | undefined {
  const called = /^(?:waggle|npm run -s waggle --|npx (?:\S+ )+waggle)(?: +(.*))?$/.exec(command)
  if (!called) return undefined
  const line = (called[1] ?? '').replace(/ [>|] ?.*$/, '')
  return (line.match(/(?:'[^']*'|"[^"]*"|\S)+/g) ?? []).map((word) => word.replaceAll(/^['"]|['"]$/g, ''))
}
