// waggle plugins add: installs an npm package into the home's plugins folder, checks that it is a plugin, and prints
// the lines for the config. Only the user can name packages; nothing that a peer sends leads here.
//
// Install scripts are not run. Peer dependencies are not installed, since the only one that matters is Waggle itself.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { asPlugin } from '../../host/load.ts'
import { here } from '../../platform/index.ts'
import type { Context } from '../contract.ts'
import { configLines } from './scaffold.ts'
import { sourceOf } from './source.ts'

export async function add(context: Context): Promise<number> {
  const [, wanted] = context.arguments as [string, string]
  const { paths, io } = context
  // npm would resolve a file relative to the plugins folder.
  const isFile = existsSync(resolve(io.cwd, wanted))
  const spec = isFile ? resolve(io.cwd, wanted) : wanted
  await mkdir(paths.plugins, { recursive: true, mode: 0o700 })
  const description = join(paths.plugins, 'package.json')
  if (!existsSync(description)) await writeFile(description, '{ "private": true, "type": "module" }\n')
  const before = await dependencies(description)
  context.say(`Installing ${wanted} into ${paths.plugins}`)
  await npm(
    ['install', '--save', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--', spec],
    paths.plugins,
  )
  const after = await dependencies(description)
  const name = Object.keys(after).find((each) => after[each] !== before[each]) ?? named(after, wanted, spec)
  if (name === undefined)
    throw new WaggleError('E_PLUGIN', `npm installed ${wanted}, but the name of the package is unknown`, {
      hint: `Check ${description}.`,
    })
  const plugin = await sourceOf(context)
    .importPlugin(name)
    .then(asPlugin)
    .catch((error: unknown) => {
      throw new WaggleError(
        'E_PLUGIN',
        `${name} was installed but is not a plugin: ${safeText(String((error as Error).message))}`,
        {
          hint: `\`npm uninstall --prefix ${paths.plugins} ${name}\` removes it.`,
          cause: error,
        },
      )
    })
  const facts = { name: plugin.name, kind: plugin.kind, package: name, summary: plugin.summary }
  if (context.json) context.out(JSON.stringify({ v: 1, ...facts }))
  else {
    context.out(
      `${facts.kind}/${safeText(facts.name)}: ${safeText(facts.summary, { line: true, limit: 200 })}`,
    )
    context.out(`In ${paths.config}:`)
    for (const line of configLines(plugin.kind, name)) context.out(`  ${line}`)
  }
  return 0
}

async function dependencies(file: string): Promise<Record<string, string>> {
  const { dependencies: found = {} } = JSON.parse(await readFile(file, 'utf8')) as {
    dependencies?: Record<string, string>
  }
  return found
}

/** The name of a package that was already installed in this version. */
function named(all: Record<string, string>, wanted: string, spec: string): string | undefined {
  return Object.keys(all).find(
    (name) => name === wanted || wanted.startsWith(`${name}@`) || all[name]!.endsWith(spec),
  )
}

function npm(words: readonly string[], cwd: string): Promise<void> {
  return new Promise((done, failed) => {
    const child = spawn('npm', words, {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: here.needsShell,
    })
    let said = ''
    child.stderr.on('data', (data) => {
      said = `${said}${data}`.slice(-8192)
    })
    const refuse = (why: string): void =>
      failed(
        new WaggleError('E_PLUGIN', `npm could not install it: ${why}`, {
          hint: 'Check the name, the version and the network; `npm view NAME` shows what the registry has.',
        }),
      )
    child.on('error', (error) => refuse(error.message))
    child.on('exit', (status) => {
      if (status === 0) done()
      else refuse(safeText(reason(said), { limit: 400 }))
    })
  })
}

/** npm's error messages, without the path of its log. */
function reason(said: string): string {
  const lines = said.split('\n').flatMap((line) => /^npm (?:error|ERR!)\s*(.*)$/.exec(line)?.[1] ?? [])
  const kept = lines.filter((line) => line !== '' && !/complete log|^code /.test(line))
  return kept.slice(0, 4).join(' ') || said.trim().split('\n').at(-1) || 'no message'
}
