// waggle share and waggle fetch: a file from one node to another, when the people of both want it.

import { resolve } from 'node:path'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'

/** On another machine the path is that machine's. */
const pathOf = ({ on }: Context, given: string): string => (on ? given : resolve(given))

export async function share(context: Context): Promise<number> {
  const to = context.options.to as string[] | undefined
  const path = pathOf(context, context.arguments[0]!)
  const result = await context.client.send('share', { path, ...(to && { to }) })
  context.out(context.json ? JSON.stringify({ v: 1, ...result }) : result.source)
  context.say(
    `${result.bytes} bytes, until this node stops; on the other node: waggle fetch ${result.source} FILE`,
  )
  return 0
}

export async function fetchFile(context: Context): Promise<number> {
  const [source, file] = context.arguments as [string, string]
  const result = await context.client.send(
    'fetch',
    { source, path: pathOf(context, file) },
    { onProgress: ({ message }) => context.say(`  ${safeText(message, { line: true })}`) },
  )
  context.out(context.json ? JSON.stringify({ v: 1, ...result }) : safeText(result.path))
  context.say(`${result.bytes} bytes; nothing uses it until you say so`)
  return 0
}
