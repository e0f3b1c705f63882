// Plugins in TypeScript under plain Node, as in the published package, where nothing compiles them.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const LOADER = pathToFileURL(resolve(import.meta.dirname, '../../daemon/host/plugin-files.ts')).href
const PLUGIN = `import { definePlugin } from 'waggle/plugin'
import { z } from 'zod'

interface Settings { text: string }

export default definePlugin<Settings>({
  name: 'advice',
  kind: 'hint',
  api: 1,
  summary: 'Gives advice.',
  settings: z.strictObject({ text: z.string() }),
  create: ({ text }: Settings) => ({ compose: () => ({ before: text, arm: 'advice', tainted: false }) }),
})
`

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waggle-plugin-files-'))
  const inPackage = join(folder, 'node_modules/waggle-plugin-typed')
  await mkdir(inPackage, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await writeFile(join(inPackage, 'package.json'), '{ "name": "waggle-plugin-typed", "main": "index.ts" }')
  await writeFile(join(inPackage, 'index.ts'), PLUGIN)
  await writeFile(join(folder, 'typed.ts'), PLUGIN)
  // As `npm init -y` writes it.
  const common = join(folder, 'common')
  await mkdir(common)
  await writeFile(join(common, 'package.json'), '{ "name": "common", "type": "commonjs" }')
  const parted = PLUGIN.replace("'Gives advice.'", 'summary')
  await writeFile(join(common, 'typed.ts'), `import { summary } from './summary.ts'\n${parted}`)
  await writeFile(join(common, 'summary.ts'), "export const summary: string = 'Gives advice.'\n")
  const plain = PLUGIN.replace(/interface .*\n/, '')
    .replace('<Settings>', '')
    .replace(': Settings', '')
  await writeFile(join(common, 'module.js'), plain)
  await writeFile(
    join(common, 'required.js'),
    "const { definePlugin } = require('waggle/plugin')\nmodule.exports = definePlugin({ name: 'required', api: 1 })\n",
  )
  await writeFile(join(folder, 'enumerated.ts'), `enum Kind { One, Two }\n${PLUGIN}`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The name of the plugin, or what is wrong with it, as plain Node sees it. */
async function loaded(specifier: string): Promise<string> {
  const code = `
    import { createPluginFiles } from '${LOADER}'
    const files = createPluginFiles(${JSON.stringify({ base: folder, plugins: folder })})
    console.log(await files.importPlugin('${specifier}').then(({ name }) => name, ({ message }) => message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
  return stdout.trim()
}

test('TypeScript whose types can be removed is loaded as it is', async () => {
  expect(await loaded('./typed.ts')).toBe('advice')
})

test.each([
  ['./common/typed.ts', 'advice'],
  ['./common/module.js', 'advice'],
  ['./common/required.js', 'required'],
])('%s is loaded in a folder that npm init made', async (file, name) => {
  expect(await loaded(file)).toBe(name)
})

test('TypeScript that has to be compiled is refused, and the error says what to do', async () => {
  expect(await loaded('./enumerated.ts')).toMatch(
    /enum is not supported.* Node\.js only removes types: write it without enums/,
  )
})

test('a package in TypeScript is refused, and the error says whose fault it is', async () => {
  expect(await loaded('waggle-plugin-typed')).toMatch(
    /loads no TypeScript from packages: its author has to publish JavaScript/,
  )
})
