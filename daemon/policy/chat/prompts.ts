// Applies a model's chat template to questions and to an environment's observations.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Example } from '../../../protocol/train/index.ts'
import type { ChatMessage, ChatTemplate } from './template.ts'

/** The system prompt of questions without examples. */
export const SYSTEM =
  'Think step by step, then give the answer between <answer> and </answer>, nothing but the answer inside.'

/** The system prompt of questions with examples. The examples show only the answer. */
export const BY_EXAMPLE = 'Give the answer between <answer> and </answer>, nothing but the answer inside.'

/** Renders a question with the system prompt. If the template refuses a system message, both go into one message. */
export function askThrough(
  template: ChatTemplate,
): (question: string, examples?: readonly Example[]) => string {
  const put = (messages: ChatMessage[]) => template.render(messages, { prompt: true })
  const system = (examples: readonly Example[]) => (examples.length > 0 ? BY_EXAMPLE : SYSTEM)
  const apart = (question: string, examples: readonly Example[] = []) =>
    put([
      { role: 'system', content: system(examples) },
      ...turnsOf(examples),
      { role: 'user', content: question },
    ])
  try {
    apart('?')
    return apart
  } catch {
    const together = (question: string, examples: readonly Example[] = []) => {
      const [first, ...rest] = [...turnsOf(examples), { role: 'user', content: question }] as ChatMessage[]
      return put([{ role: 'user', content: `${system(examples)}\n\n${first!.content}` }, ...rest])
    }
    together('?')
    return together
  }
}

function turnsOf(examples: readonly Example[]): ChatMessage[] {
  return examples.flatMap(({ question, answer }) => [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ])
}

/** The text that the template puts before and after a user message that follows an answer. */
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
