// waggle plugins new: creates a folder with a small working plugin and a passing test, to start from.

import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { didYouMean } from '../../../protocol/suggest.ts'
import type { Context } from '../contract.ts'
import { configLines, scaffold } from './scaffold.ts'
import { TEMPLATES } from './templates.ts'

export async function create(context: Context): Promise<number> {
  const [, kind, name] = context.arguments as [string, string, string]
  const kinds = Object.keys(TEMPLATES)
  if (!kinds.includes(kind)) {
    throw new WaggleError('E_USAGE', `there is no plugin kind "${kind}".${didYouMean(kind, kinds)}`, {
      hint: `Kinds are ${kinds.join(', ')}. For tasks of your own, see docs/datasets.md and docs/episodes.md.`,
    })
  }
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name))
    throw new WaggleError('E_USAGE', `"${name}" is not a valid plugin name`, {
      hint: 'Use 1 to 64 of a-z, 0-9, _ and -, starting with a letter.',
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
  context.out(`  cd ${relative(context.io.cwd, folder)} && npm test     run its tests`)
  context.out(`  in ${context.paths.config}:`)
  for (const line of configLines(kind, use)) context.out(`    ${line}`)
  context.out(`  ${context.commandLine('plugins check')}     check whether a node could start with it`)
  return 0
}

/** Links Waggle and zod for the plugin's tests. A node does not need the links. */
async function linkWaggle(folder: string, packageRoot: string): Promise<void> {
  const zod = dirname(createRequire(join(packageRoot, 'package.json')).resolve('zod/package.json'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(packageRoot, join(folder, 'node_modules', 'waggle'), 'junction')
  await symlink(zod, join(folder, 'node_modules', 'zod'), 'junction')
}

function explain(folder: string) {
  return (error: NodeJS.ErrnoException): never => {
    const why = error.code === 'EEXIST' ? 'already exists' : `cannot be created: ${error.message}`
    throw new WaggleError('E_USAGE', `${folder} ${why}`, { hint: 'Use another name or folder.' })
  }
}
