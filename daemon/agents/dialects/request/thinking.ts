// Whether a client wants an answer to begin with a thought, under the names that the APIs have for it.

import type { Body } from '../dialect.ts'
import type { ChatPrompts, Conversation } from '../prompts.ts'
import type { Rule } from './wishes.ts'

type Field = 'think' | 'thinking' | 'reasoning_effort' | 'chat_template_kwargs'

interface Wish {
  thinking?: boolean | undefined
  /** The field also asks for something that there is not, such as thoughts apart from the answer. */
  hasMore: boolean
}

const READ: Record<Field, (value: unknown) => Wish> = {
  think: (value) => ({ thinking: flag(value), hasMore: value !== false }),
  thinking(value) {
    const { type } = fieldsOf(value)
    return {
      thinking: type === 'disabled' ? false : type === 'enabled' ? true : undefined,
      hasMore: type !== 'disabled',
    }
  },
  reasoning_effort: (value) => ({ thinking: value === 'none' ? false : undefined, hasMore: false }),
  chat_template_kwargs(value) {
    const { enable_thinking: thinking, ...others } = fieldsOf(value)
    return { thinking: flag(thinking), hasMore: Object.keys(others).length > 0 }
  },
}

/** The rules are those of the fields: a wish is granted if the model's template heeds it. */
export function thinkingIn(
  body: Body,
  fields: readonly Field[],
  { prompts, tools }: Pick<Conversation, 'tools'> & { prompts: Pick<ChatPrompts, 'heeds'> },
): { thinking: boolean | undefined; rules: Record<string, Rule> } {
  const thinking = fields.map((field) => READ[field](body[field]).thinking).find((one) => one !== undefined)
  const ruleOf =
    (field: Field): Rule =>
    (value) => {
      const wish = READ[field](value)
      if (wish.thinking === undefined || wish.thinking !== thinking || wish.hasMore) return false
      return prompts.heeds({ tools }, wish.thinking)
    }
  return { thinking, rules: Object.fromEntries(fields.map((field) => [field, ruleOf(field)])) }
}

const flag = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
