// What a model's chat template makes of a question, and of what an environment shows between two answers.

import { WaggleError } from '../../protocol/errors.ts'
import type { ChatMessage, ChatTemplate } from './chat-template.ts'
import { DeadlineError } from './deadline.ts'

/** What every question is preceded by, for models whose template has a place for it. */
export const SYSTEM =
  'Think step by step, then give the answer between <answer> and </answer>, nothing but the answer inside.'

/** How a question is put: with the system prompt, or before it in one message where the template refuses a system. */
export function askThrough(template: ChatTemplate): (question: string) => string {
  const put = (messages: ChatMessage[]) => template.render(messages, { prompt: true })
  const apart = (question: string) =>
    put([
      { role: 'system', content: SYSTEM },
      { role: 'user', content: question },
    ])
  try {
    apart('?')
    return apart
  } catch (error) {
    if (error instanceof DeadlineError) throw error
    const together = (question: string) => put([{ role: 'user', content: `${SYSTEM}\n\n${question}` }])
    together('?')
    return together
  }
}

/** What the template puts around a user's message that follows an answer. */
export function replyThrough(template: ChatTemplate): { before: string; after: string } {
  const [answer, said] = ['waggle-answer', 'waggle-observation']
  const text = template.render(
    [
      { role: 'user', content: 'waggle-question' },
      { role: 'assistant', content: answer },
      { role: 'user', content: said },
    ],
    { prompt: true },
  )
  const [from, to] = [text.lastIndexOf(answer) + answer.length, text.lastIndexOf(said)]
  if (from < answer.length || to < from) {
    throw new WaggleError('E_MODEL', 'the chat template has no place for a second message of the user', {
      hint: 'This model cannot be asked tasks with turns.',
    })
  }
  return { before: text.slice(from, to), after: text.slice(to + said.length) }
}
