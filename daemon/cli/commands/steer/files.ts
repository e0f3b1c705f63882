// waggle send-file and waggle get-file: transfer a file between two nodes if the users of both ask for it.

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { WaggleError } from '../../../../protocol/errors.ts'
import { peerName, safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'

/** With --on, the path is on the other machine. */
const pathOf = ({ on, io }: Context, given: string): string => (on ? given : resolve(io.cwd, given))

export async function sendFile(context: Context): Promise<number> {
  const to = context.options.to as string[] | undefined
  const path = pathOf(context, context.arguments[0]!)
  if (!context.on && !statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw new WaggleError('E_USAGE', `there is no file ${path}`, {
      hint: 'Give the path of a file. To share a folder, make an archive of it.',
    })
  }
  const result = await context.client.send('share', { path, ...(to && { to }) })
  context.out(context.json ? JSON.stringify({ v: 1, ...result }) : result.source)
  if (result.to) context.say(`only to ${result.to.map((id) => `${peerName(id)} (${id})`).join(', ')}`)
  context.say(
    `${result.bytes} bytes, offered until this node stops. On the other node: waggle get-file ${result.source} FILE`,
  )
  return 0
}

export async function getFile(context: Context): Promise<number> {
  const [source, file] = context.arguments as [string, string]
  const result = await context.client.send(
    'fetch',
    { source, path: pathOf(context, file) },
    { onProgress: ({ message }) => context.say(`  ${safeText(message, { line: true })}`) },
  )
  context.out(context.json ? JSON.stringify({ v: 1, ...result }) : safeText(result.path))
  context.say(`${result.bytes} bytes`)
  return 0
}
