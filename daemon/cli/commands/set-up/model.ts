// waggle model: downloads a model from the hub, or lists the models on this machine.

import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { bytes } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import type { Context } from '../../contract.ts'
import { listHere, pullModel } from '../../model/locate.ts'
import { tableText } from '../../text/table-text.ts'

export async function run(context: Context): Promise<number> {
  const [action, name] = context.arguments
  if (action === 'list') return await list(context)
  if (name === undefined) {
    throw new WaggleError('E_USAGE', 'model pull needs a name', {
      hint: 'For example `waggle model pull Qwen/Qwen2.5-0.5B-Instruct`.',
    })
  }
  const { directory, commit } = await pullModel(context, name)
  if (context.json) context.out(JSON.stringify({ v: 1, name, commit, path: directory }))
  else context.out(directory)
  if (commit !== undefined)
    context.say(`commit ${commit}; train it with \`${context.commandLine(`up --model ${name}`)}\``)
  return 0
}

async function list(context: Context): Promise<number> {
  const { root, models: cached, local } = await listHere(context)
  // A repository with only GGUF files is listed by its files.
  const files = new Set(local.filter(({ from }) => from === 'hub').map(({ name }) => repositoryOf(name)))
  const models = cached.filter(({ name, complete }) => complete || !files.has(name))
  const rows = await Promise.all(
    models.map(async (model) => ({ ...model, bytes: await sizeOf(model.directory) })),
  )
  if (context.json) {
    context.out(JSON.stringify({ v: 1, cache: root, models: rows, local }))
    return 0
  }
  if (rows.length + local.length === 0)
    context.say(
      `no models in ${root}, nor of Ollama or LM Studio; fetch one with \`${context.commandLine('model pull org/name')}\``,
    )
  const shown = rows.map(({ name, refs, commit, bytes: size, complete }) => [
    name,
    refs.join(' ') || '-',
    commit.slice(0, 10),
    bytes(size),
    complete ? 'complete' : 'incomplete',
  ])
  for (const line of rows.length > 0
    ? tableText(['MODEL', 'REVISION', 'COMMIT', 'SIZE', 'STATE'], shown)
    : []) {
    context.out(line)
  }
  if (local.length > 0 && rows.length > 0) context.out('')
  const others = local.map(({ name, from, bytes: size, path }) => [name, from, bytes(size), path])
  for (const line of local.length > 0 ? tableText(['GGUF FILE', 'FROM', 'SIZE', 'FOR --model'], others) : [])
    context.out(line)
  return 0
}

/** `org/name` of `org/name/file.gguf`. */
const repositoryOf = (name: string): string => name.split('/').slice(0, 2).join('/')

async function sizeOf(directory: string): Promise<number> {
  const names = await readdir(directory)
  return names.reduce(
    (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}
