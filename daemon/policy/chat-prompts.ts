// Applies a model's chat template to questions and to an environment's observations.

import { WaggleError } from '../../protocol/errors.ts'
import type { ChatMessage, ChatTemplate } from './chat-template.ts'
import { DeadlineError } from './deadline.ts'

/** The system prompt of every question. */
export const SYSTEM =
  'Think step by step, then give the answer between <answer> and </answer>, nothing but the answer inside.'

/**
 * Renders a question with the system prompt, or with both in one message if the template refuses a system
 * message.
 */
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

/** The template's text around a user message that follows an answer. */
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
    throw new WaggleError('E_MODEL', 'the chat template does not accept a second user message', {
      hint: 'This model cannot be used for tasks with turns.',
    })
  }
  return { before: text.slice(from, to), after: text.slice(to + said.length) }
}
