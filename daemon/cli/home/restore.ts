// waggle restore: checks an archive of `waggle backup` and puts it into this home.

import { resolve } from 'node:path'
import { restoreBackup } from '../../store/backup/restore.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../contract.ts'
import { refuseSecond } from '../daemon/second.ts'
import { withProgress } from '../text/progress.ts'
import { contentsText } from './backup.ts'

export async function run(context: Context): Promise<number> {
  const { io, paths, options, json, out, say, commandLine } = context
  await refuseSecond(context)
  const file = resolve(io.cwd, context.arguments[0]!)
  const isNew = options['new-identity'] === true
  const { manifest, aside } = await withProgress(context, 'unpack', { unit: 'bytes' }, (at) =>
    restoreBackup(
      {
        file,
        state: paths.state,
        config: paths.config,
        replace: options.force === true,
        withoutIdentity: isNew,
      },
      { disk, clock: io.clock, at },
    ),
  )
  if (json)
    out(
      JSON.stringify({
        v: 1,
        home: paths.state,
        files: Object.keys(manifest.files).length,
        peerId: isNew ? undefined : manifest.peerId,
        madeAt: manifest.time,
        aside,
      }),
    )
  else out(paths.state)
  say(`${contentsText(manifest)}, as of ${new Date(manifest.time).toISOString()}`)
  if (aside !== undefined) say(`what was there is in ${aside}`)
  if (isNew) say('The node gets another identity at its next start.')
  else if (manifest.peerId)
    say(
      'It has the identity of the node that was backed up, which must not start again: two nodes with one identity cut each other off and raise an alert. For a second node: --new-identity.',
    )
  say(`start it: ${commandLine('up')}`)
  return 0
}
