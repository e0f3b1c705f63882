// waggle conversations: served calls that the node keeps to learn from. Lists them, shows one, rates, deletes.

import { readFileSync } from 'node:fs'
import {
  type ConversationsRequest,
  type ConversationsResult,
  type ConversationView,
  clockTime,
} from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { tableText } from '../../text/table-text.ts'
import { ratingsIn, ratingsOf } from './open-webui.ts'

type Action = NonNullable<ConversationsRequest['action']>

export async function run(context: Context): Promise<number> {
  const { client, options, json } = context
  const [action = 'list', id, value] = context.arguments
  const file = options['open-webui'] as string | undefined
  const result =
    file === undefined
      ? await client.send('conversations', requestOf(action as Action, id, value, context))
      : await rateAll(file, context)
  if (json) context.out(JSON.stringify({ v: 1, ...result }))
  else if (action === 'list' || file !== undefined) list(result, context)
  else if (action === 'show') for (const line of fullText(result.conversations[0]!)) context.out(line)
  else context.out(doneText(result))
  return 0
}

function requestOf(
  action: Action,
  id: string | undefined,
  value: string | undefined,
  { options }: Context,
): ConversationsRequest {
  const all = options.all === true
  if (action === 'list' ? id !== undefined : (id === undefined) !== (action === 'delete' && all))
    throw new WaggleError(
      'E_USAGE',
      action === 'list'
        ? 'conversations list takes no id'
        : `conversations ${action} needs ${action === 'delete' ? 'either an id or --all' : 'an id'}`,
      { hint: '`waggle conversations` lists the ids; their first characters are enough.' },
    )
  if (action !== 'rate') return { action, ...(id === undefined ? {} : { id }), ...(all ? { all } : {}) }
  const comment = options.comment as string | undefined
  return { action, id: id!, reward: rewardIn(value), ...(comment === undefined ? {} : { comment }) }
}

function rewardIn(value: string | undefined): number {
  const reward = value === 'up' ? 1 : value === 'down' ? 0 : Number(value?.trim() || Number.NaN)
  if (reward >= 0 && reward <= 1) return reward
  throw new WaggleError('E_USAGE', 'conversations rate needs up, down, or a number from 0 to 1', {
    hint: 'For example `waggle conversations rate 3fa9 up`.',
  })
}

/** Rates what Open WebUI's users rated, as its export says. */
async function rateAll(file: string, { client, arguments: [action], say }: Context) {
  if (action !== 'rate') throw new WaggleError('E_USAGE', '--open-webui goes with `conversations rate`')
  const { on, conversations } = await client.send('conversations', {})
  const ratings = ratingsIn(textIn(file), file)
  const rated: ConversationView[] = []
  let late = 0
  for (const { id, reward, comment } of ratingsOf(ratings, conversations)) {
    const request = { action: 'rate', id, reward, ...(comment ? { comment } : {}) } as const
    const result = await client.send('conversations', request).catch((error: unknown) => {
      if (!(error instanceof WaggleError)) throw error
      late += 1
    })
    if (result) rated.push(...result.conversations)
  }
  say(
    `${rated.length} of ${ratings.length} ratings are of answers that are kept${late > 0 ? `; ${late} came too late` : ''}.`,
  )
  return { on, conversations: rated }
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new WaggleError('E_USAGE', `cannot read ${file}: ${(cause as Error).message}`, { cause })
  }
}

function list({ on, conversations }: ConversationsResult, { out, say }: Context): void {
  if (conversations.length === 0) {
    say(on ? 'No conversations are kept yet.' : 'Nothing is kept: agents.learn is off.')
    return
  }
  const head = ['ID', 'TIME', 'MODEL', 'REWARD', 'STATE', 'ASKED', 'ANSWER']
  for (const line of tableText(head, conversations.map(row))) out(line)
}

function row(view: ConversationView): string[] {
  const { id, time, model, reward, asked, answer } = view
  const short = (text: string): string => safeText(text.trim(), { limit: 32, line: true })
  return [
    safeText(id, { limit: 12, line: true }).replace('…', ''),
    clockTime(time),
    safeText(model, { limit: 24, line: true }),
    reward === undefined ? '-' : String(reward),
    view.state,
    short(asked),
    short(answer),
  ]
}

function fullText(view: ConversationView): string[] {
  const { id, model, version, tokens, reward, comment, state, why, prompt = '', answer } = view
  const indent = (text: string): string[] =>
    safeText(text, { limit: 1_000_000 })
      .split('\n')
      .map((line) => `    ${line}`)
  return [
    `${safeText(id, { line: true })}  ${clockTime(view.time)}  ${safeText(model, { line: true })}  v${version}  ${tokens} tokens`,
    `  ${state}${why === undefined ? '' : `: ${why}`}${reward === undefined ? '' : `, rated ${reward}`}`,
    ...(comment === undefined ? [] : [`  comment  ${safeText(comment, { line: true })}`]),
    '  prompt',
    ...indent(prompt),
    '  answer',
    ...indent(answer),
  ]
}

function doneText({ deleted, conversations: [view] }: ConversationsResult): string {
  if (deleted !== undefined) return `${deleted} deleted`
  const { id, reward, state, why } = view!
  return `${safeText(id, { line: true })} is rated ${reward}: ${state}${why === undefined ? '' : `, ${why}`}`
}
