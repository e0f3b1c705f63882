// waggle backup: the files of a home in one archive. A node may run on it meanwhile: see daemon/store/backup.

import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bytes, count } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { VERSION } from '../../../protocol/package.ts'
import { peerName } from '../../../protocol/text.ts'
import { backUp } from '../../store/backup/backup.ts'
import type { BackupManifest } from '../../store/backup/contents.ts'
import { nodeDisk as disk, freeBytes } from '../../store/node-disk.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'

const PAUSE_MS = 20

export async function run(context: Context): Promise<number> {
  const { io, paths, options, json, out, say } = context
  const file = resolve(io.cwd, context.arguments[0] ?? (await freshName(context)))
  if (options.force !== true && (await disk.stat(file)))
    throw new WaggleError('E_BACKUP', `${file} exists already`, {
      hint: 'Choose another name, or add --force.',
    })
  const made = await withProgress(context, 'backup', { unit: 'bytes' }, (at) =>
    backUp(
      { state: paths.state, config: paths.config, file, program: VERSION },
      { disk, clock: io.clock, pause: () => sleep(PAUSE_MS), freeBytes, at },
    ),
  )
  const { manifest, leftOut } = made
  const steps = stepsOf(manifest)
  if (json)
    out(
      JSON.stringify({
        v: 1,
        file,
        bytes: made.bytes,
        files: Object.keys(manifest.files).length,
        checkpoints: steps,
        peerId: manifest.peerId,
        damaged: manifest.damaged,
        leftOut,
      }),
    )
  else out(file)
  say(`${bytes(made.bytes)}, ${contentsText(manifest)}`)
  for (const name of manifest.damaged)
    say(`warning: the database ${name} is damaged, and is in the backup as it is; the next start mends it`)
  if (leftOut.length > 0)
    say(
      `not in it, as they are links or no files: ${leftOut.slice(0, 3).join(', ')}${more(leftOut.length - 3)}`,
    )
  say(
    'It holds secrets: whoever has it can run this node. Models, and files that the config names, are not in it.',
  )
  return 0
}

/** What a backup holds, in words. */
export function contentsText({ files, peerId }: BackupManifest): string {
  const names = Object.keys(files)
  const steps = stepsOf({ files })
  const checkpoints =
    steps.length > 0 ? `checkpoints of step ${steps.map(count).join(', ')}` : 'no checkpoint'
  return `${count(names.length)} files: ${peerId ? `${peerName(peerId)} (${peerId})` : 'no identity'}, ${checkpoints}`
}

/** Steps of the checkpoints, newest first. */
function stepsOf({ files }: Pick<BackupManifest, 'files'>): number[] {
  return Object.keys(files)
    .map((name) => /^checkpoints\/(\d+)-step-(\d+)\/manifest\.json$/.exec(name))
    .filter((match) => match !== null)
    .sort(([, a], [, b]) => Number(b) - Number(a))
    .map(([, , step]) => Number(step))
}

const more = (rest: number): string => (rest > 0 ? ` and ${rest} more` : '')

/** In the folder where the command was typed. */
async function freshName({ io, paths }: Context): Promise<string> {
  const peerId = await readFile(join(paths.state, 'identity.id'), 'utf8').catch(() => undefined)
  const date = new Date(io.clock()).toISOString().slice(0, 19).replaceAll(':', '-')
  return `waggle-${peerId ? peerName(peerId.trim()) : 'node'}-${date}.tar`
}
