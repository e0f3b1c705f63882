// waggle plugins new: a folder with a small plugin that works and a test that passes, to be changed into one's own.

import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { didYouMean } from '../../../protocol/suggest.ts'
import type { Context } from '../context.ts'
import { configLines, scaffold } from './scaffold.ts'
import { TEMPLATES } from './templates.ts'

export async function create(context: Context): Promise<number> {
  const [, kind, name] = context.arguments as [string, string, string]
  const kinds = Object.keys(TEMPLATES)
  if (!kinds.includes(kind)) {
    throw new WaggleError('E_USAGE', `there is no kind of plugin "${kind}".${didYouMean(kind, kinds)}`, {
      hint: `Kinds are ${kinds.join(', ')}. Tasks of your own are datasets: see docs/reference/datasets.md.`,
    })
  }
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name))
    throw new WaggleError('E_USAGE', `"${name}" cannot be a plugin's name`, {
      hint: 'Take 1 to 64 of a-z, 0-9, _ and -, a letter first.',
    })
  const folder = resolve(context.io.cwd, name)
  const fromSources = import.meta.url.endsWith('.ts')
  const files = scaffold({ kind, name, nodeOptions: fromSources ? '--conditions=waggle-source ' : '' })
  await mkdir(folder).catch(explain(folder))
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { flag: 'wx' })
  await linkWaggle(folder, context.io.packageRoot)
  const path = relative(dirname(context.paths.config), join(folder, `${name}.ts`))
  const use = path.startsWith('.') ? path : `./${path}`
  if (context.json) {
    context.out(JSON.stringify({ v: 1, folder, files: Object.keys(files), kind, name, use }))
    return 0
  }
  context.out(`${folder} has ${Object.keys(files).join(', ')}`)
  context.out('')
  context.out(`  cd ${relative(context.io.cwd, folder)} && npm test     its tests; they pass`)
  context.out(`  in ${context.paths.config}:`)
  for (const line of configLines(kind, use)) context.out(`    ${line}`)
  context.out(`  ${context.commandLine('plugins check')}     whether a node could start with it`)
  return 0
}

/** So that its tests find this Waggle, and zod; a node needs neither. */
async function linkWaggle(folder: string, packageRoot: string): Promise<void> {
  const zod = dirname(createRequire(join(packageRoot, 'package.json')).resolve('zod/package.json'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(packageRoot, join(folder, 'node_modules', 'waggle'), 'junction')
  await symlink(zod, join(folder, 'node_modules', 'zod'), 'junction')
}

function explain(folder: string) {
  return (error: NodeJS.ErrnoException): never => {
    const why = error.code === 'EEXIST' ? 'is there already' : `cannot be made: ${error.message}`
    throw new WaggleError('E_USAGE', `${folder} ${why}`, { hint: 'Take another name or another folder.' })
  }
}
