// waggle export model and waggle export adapter: the newest checkpoint in Hugging Face's or PEFT's format, with a model
// card, or as one GGUF file. The card says what the checkpoint's manifest records, not what the config says now.

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { adapterShapes, parameterShapes } from '../../engine/decoder.ts'
import { cardBase } from '../../policy/export/card-base.ts'
import { dtypesOf, exportModel as writeExport } from '../../policy/export/export-model.ts'
import { modelCard } from '../../policy/export/model-card.ts'
import { bytesOfFiles, pushModel } from '../../policy/export/push.ts'
import type { StoredModel } from '../../policy/model.ts'
import { hubReference } from '../../policy/sources/reference.ts'
import { hubToken } from '../../policy/sources/token.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { watchedDisk } from '../../store/watched-disk.ts'
import { quoted } from '../context.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'
import { loadCheckpoint, loadNewest, newestAsked, noCheckpoint } from './checkpoint.ts'
import { fromHere } from './locate.ts'
import { recordsOf } from './run-records.ts'

export async function exportModel(context: Context): Promise<number> {
  const push = pushOf(context)
  const passing =
    push && context.arguments[1] === undefined ? mkdtempSync(join(tmpdir(), 'waggle-push-')) : undefined
  try {
    return await exportTo(passing ?? targetOf(context), push, context)
  } finally {
    if (passing) rmSync(passing, { recursive: true, force: true })
  }
}

async function exportTo(target: string, push: Push | undefined, context: Context): Promise<number> {
  const { paths, io, json, options } = context
  const bare = context.arguments[0] === 'adapter'
  const dtype = dtypeOf(options.dtype, dtypesOf(target))
  if (options.save === true) await context.client.send('checkpoint', {})
  const newest = await loadNewest(await newestAsked(context), async (checkpoint) => ({
    checkpoint,
    // Of the base, an adapter by itself needs no values.
    model: await loadCheckpoint(context, checkpoint, bare ? 'file' : 'f32'),
  }))
  if (!newest) throw noCheckpoint(context)
  const { checkpoint, model } = newest
  const base = await cardBase(
    { name: model.directory, ...checkpoint.base, directory: model.directory },
    { disk },
  )
  const name = base.hub ?? base.title
  const card = modelCard({
    base,
    adapter: model.spec.adapter,
    bare,
    dtype,
    step: checkpoint.step,
    lineage: checkpoint.lineage,
    tokenizer: model.tokenizer.digest,
    phases: checkpoint.phases,
    joined: checkpoint.joined,
    ...recordsOf(paths, checkpoint),
  })
  const files = await withProgress(
    context,
    'export',
    { unit: 'bytes', total: bytesOf(model, { bare, dtype }) },
    (at) =>
      writeExport(
        model,
        { target, dtype, bare, card, base: { name, revision: base.commit } },
        { disk: watchedDisk(disk, at) },
      ),
  )
  const { step, lineage } = checkpoint
  const pushed = push && (await pushTo(push, { files, card, step }, context))
  const place = pushed?.url ?? target
  context.out(json ? JSON.stringify({ v: 1, path: target, ...pushed, step, lineage, dtype }) : place)
  context.say(
    bare
      ? `step ${step}; it belongs on ${base.hub ?? model.directory}`
      : `step ${step}; try it with \`${io.program} ${model.tokenizer.hasChatTemplate ? 'chat' : 'generate Hello'} --model ${quoted(push?.name ?? target)}\``,
  )
  // An export works without a running node, so errors are ignored.
  const training = (await context.client.snapshot().catch(() => undefined))?.training
  if (training && training.step > step)
    context.say(
      `The node is at step ${training.step} by now. For its newest weights: \`${context.commandLine(`export ${context.arguments.map(quoted).join(' ')} --save --force`)}\``,
    )
  return 0
}

interface Push {
  name: string
  token: string
}

/** Checked before anything is written. */
function pushOf({ options, io }: Context): Push | undefined {
  const { push, public: isPublic } = options
  if (push === undefined) {
    if (isPublic !== true) return undefined
    throw new WaggleError('E_USAGE', '--public says what --push makes', { hint: 'Add --push ORG/NAME.' })
  }
  const hub = hubReference(String(push))
  if (hub === undefined || hub.name !== push)
    throw new WaggleError('E_USAGE', `--push needs ORG/NAME, not "${push}"`)
  const token = hubToken(io.env, io.homedir)
  if (token !== undefined) return { name: hub.name, token }
  throw new WaggleError('E_USAGE', `pushing to ${hub.name} needs a token of your account on the hub`, {
    hint: 'Set HF_TOKEN to a token with the right to write, or log in with `hf auth login`.',
  })
}

async function pushTo(
  { name, token }: Push,
  { files, card, step }: { files: string[]; card: string; step: number },
  context: Context,
): Promise<{ url: string; commit: string }> {
  return withProgress(context, 'upload', { unit: 'bytes', total: await bytesOfFiles(files) }, (at) =>
    pushModel(
      {
        ...{ name, token, files, title: `Step ${step}`, isPublic: context.options.public === true },
        // A GGUF file has it inside; the hub reads the repository's.
        card: files.some((path) => path.endsWith('README.md')) ? undefined : card,
        endpoint: context.io.env.HF_ENDPOINT || undefined,
        onBytes: at,
      },
      fromHere,
    ),
  )
}

/** About the bytes of the exported tensors. */
function bytesOf({ spec }: StoredModel, { bare, dtype }: { bare: boolean; dtype: string }): number {
  const { adapter: _adapter, ...plain } = spec
  const shapes = bare ? adapterShapes(spec) : parameterShapes(plain)
  const values = [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0)
  return values * ({ f32: 4, q8_0: 34 / 32 }[dtype] ?? 2)
}

function dtypeOf(given: Context['options'][string], allowed: readonly string[]): string {
  const dtype = String(given ?? 'f32')
  if (allowed.includes(dtype)) return dtype
  throw new WaggleError('E_USAGE', `--dtype must be ${allowed.join(', ')}, not "${dtype}"`, {
    hint: 'Only a GGUF file, whose name ends in .gguf, can be q8_0.',
  })
}

function targetOf({ arguments: [what, given], io, options }: Context): string {
  if (given === undefined) {
    throw new WaggleError('E_USAGE', `export ${what} needs a folder or a .gguf file to write to`, {
      hint: `For example \`waggle export ${what} ./trained\`.`,
    })
  }
  const target = resolve(io.cwd, given)
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  if (existsSync(target) && isFolder === target.endsWith('.gguf')) {
    throw new WaggleError('E_USAGE', `${target} is a ${isFolder ? 'folder' : 'file'}`, {
      hint: 'Give a folder, or a file whose name ends in .gguf.',
    })
  }
  if (options.force === true || !existsSync(target)) return target
  if (!isFolder || readdirSync(target).length > 0) {
    throw new WaggleError('E_USAGE', `${target} ${isFolder ? 'is not empty' : 'exists'}`, {
      hint: `Choose another ${isFolder ? 'folder' : 'file'}, or overwrite with --force.`,
    })
  }
  return target
}
