// What is asked of the kept conversations: by clients, who rate answers, and by the owner, who looks at them and deletes.

import {
  type ConversationsRequest,
  type ConversationsResult,
  type ConversationView,
  MAX_FIRST_WORDS,
} from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Body } from '../dialects/dialect.ts'
import { bareId, FEEDBACK, read } from '../serving/shapes.ts'
import type { Conversation, KeyName } from './conversation.ts'
import type { Conversations } from './conversations.ts'
import { textOf } from './keeping.ts'

/** The answer to POST /v1/feedback with this body and key. Throws HttpError. */
export async function feedback(body: Body, key: KeyName, conversations: Conversations): Promise<object> {
  const { id, reward, comment } = read(FEEDBACK, body)
  const found = conversations.find(bareId(id), key)
  const value = reward === 'up' ? 1 : reward === 'down' ? 0 : reward
  await conversations.rate(found, { reward: value, ...(comment === undefined ? {} : { comment }) })
  const now = conversations.find(found.id)
  const [standing] = conversations.standings([now])
  return { id: found.id, reward: value, ...standing }
}

type Reading = Pick<Tokenizer, 'reader'>

/** What the owner asks by `waggle conversations`. Throws WaggleError. */
export async function ownerAsks(
  { action = 'list', id, all, reward, comment }: ConversationsRequest,
  { conversations, tokenizer }: { conversations: Conversations; tokenizer: Reading },
): Promise<ConversationsResult> {
  const on = conversations.isOn
  const one = (): Conversation => {
    if (id === undefined) throw new WaggleError('E_CONTROL', `conversations: ${action} needs an id`)
    return conversations.find(bareId(id))
  }
  switch (action) {
    case 'list':
      return { on, conversations: viewsOf(conversations.list(), conversations) }
    case 'rate': {
      if (reward === undefined) throw new WaggleError('E_CONTROL', 'conversations: rate needs a reward')
      const { id: rated } = one()
      await conversations.rate(one(), { reward, ...(comment === undefined ? {} : { comment }) })
      return { on, conversations: viewsOf([conversations.find(rated)], conversations) }
    }
    case 'delete': {
      if ((all === true) === (id !== undefined))
        throw new WaggleError('E_CONTROL', 'conversations: delete needs either an id or "all"')
      const some = all ? conversations.list() : [one()]
      const views = all ? [] : viewsOf(some, conversations)
      await conversations.forget(some)
      return { on, conversations: views, deleted: some.length }
    }
    case 'show': {
      const found = one()
      const [view] = viewsOf([found], conversations)
      const { asked, text: answer } = found
      return {
        on,
        conversations: [
          { ...view!, asked, answer, prompt: found.promptText ?? textOf(found.prompt, tokenizer) },
        ],
      }
    }
  }
}

function viewsOf(some: readonly Conversation[], conversations: Conversations): ConversationView[] {
  const standings = conversations.standings(some)
  return some.map(({ id, at, model, asked, text, sample, rating }, i) => ({
    ...{ id, time: at, model, version: sample.version, tokens: sample.tokens.length },
    asked: asked.slice(0, MAX_FIRST_WORDS),
    answer: text.slice(0, MAX_FIRST_WORDS),
    ...standings[i]!,
    ...rating,
  }))
}
