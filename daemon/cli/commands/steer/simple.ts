// Commands that send the daemon one request without arguments and print the result.

import type { CommandName, Commands } from '../../../../protocol/api/index.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { createProgressLine } from '../../text/progress.ts'

async function ask<Name extends CommandName>(
  context: Context,
  name: Name,
  say: (result: Commands[Name][1]) => string,
): Promise<number> {
  const progress = createProgressLine(context)
  const result = await context.client
    .send(name, {} as Commands[Name][0], { onProgress: progress.show })
    .finally(progress.end)
  context.out(context.json ? JSON.stringify({ v: 1, ...result }) : safeText(say(result), { limit: 10_000 }))
  return 0
}

export const pause = (context: Context): Promise<number> => ask(context, 'pause', ({ message }) => message)
export const resume = (context: Context): Promise<number> => ask(context, 'resume', ({ message }) => message)
export const invite = (context: Context): Promise<number> => ask(context, 'invite', (result) => result.invite)
export const leave = (context: Context): Promise<number> => ask(context, 'leave', ({ message }) => message)
export const checkpoint = (context: Context): Promise<number> =>
  ask(context, 'checkpoint', ({ step, path }) => `saved step ${step} in ${path}`)
