// Renders a model's chat template, an untrusted Jinja program from a download. It gets few globals, a time limit and an
// output limit, but neither clock nor environment. So a prompt is the same on every node and on every day.

import { Environment, Interpreter, Template } from '@huggingface/jinja'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { withDeadline } from './deadline.ts'

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  /** Of an assistant's message: the tools that it calls. Templates expect the arguments to be an object. */
  tool_calls?: readonly { id: string; type: 'function'; function: { name: string; arguments: unknown } }[]
  /** Of a tool's message: the id of the call that it answers. */
  tool_call_id?: string
}

/** A tool as OpenAI's chat API describes it, and as templates expect it. */
export interface ChatTool {
  type: 'function'
  function: { name: string; description?: string; parameters?: unknown }
}

export interface RenderOptions {
  /** End where the model's next answer begins. */
  prompt: boolean
  tools?: readonly ChatTool[] | undefined
}

export interface ChatTemplate {
  readonly source: string
  /** The conversation as text; with `prompt`, up to where the model's next answer begins. Throws E_MODEL. */
  render(messages: readonly ChatMessage[], options: RenderOptions): string
}

/** Generous, because a thread on a busy machine may have to wait for a second. */
const LIMIT_MS = 5000
const LIMIT_CHARS = 4 * 1024 * 1024
const LIMIT_RANGE = 100_000
/** Llama 3.1 writes a date into its system prompt; this is the default in its template. */
const DATE = '26 Jul 2024'

/**
 * `tokens` are the special tokens that templates refer to by name, such as bos_token. Throws E_MODEL if the template
 * does not parse.
 */
export function createChatTemplate(source: string, tokens: Readonly<Record<string, string>>): ChatTemplate {
  const { parsed } = guarded(() => new Template(source))
  return {
    source,
    render(messages, { prompt, tools }) {
      return guarded(() => {
        const environment = new Environment()
        const values = {
          ...{ ...GLOBALS, ...tokens, messages, add_generation_prompt: prompt, date_string: DATE },
          ...(tools && tools.length > 0 ? { tools } : {}),
        }
        for (const [name, value] of Object.entries(values)) environment.set(name, value)
        const { value } = new Interpreter(environment).run(parsed) as { value: unknown }
        if (typeof value !== 'string') throw new TypeError('it gives no text')
        if (value.length > LIMIT_CHARS) throw new RangeError(`its text has ${value.length} characters`)
        return value
      })
    },
  }
}

const GLOBALS: Record<string, unknown> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  raise_exception(message: unknown) {
    throw new Error(String(message))
  },
  range(...given: unknown[]): number[] {
    const numbers = given.filter((value): value is number => typeof value === 'number')
    const [start, stop, step = 1] =
      numbers.length === 1 ? [0, numbers[0]!] : (numbers as [number, number, number?])
    const length = Math.max(0, Math.ceil((stop - start) / step))
    if (!(length <= LIMIT_RANGE)) throw new RangeError(`range of ${length} values`)
    return Array.from({ length }, (_, i) => start + i * step)
  },
  strftime_now: () => DATE,
}

function guarded<Result>(run: () => Result): Result {
  try {
    return withDeadline('the chat template', LIMIT_MS, run)
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    const reason = safeText(cause instanceof Error ? cause.message : String(cause), {
      limit: 160,
      line: true,
    })
    throw new WaggleError('E_MODEL', `the chat template cannot be used: ${reason}`, {
      hint: 'It is "chat_template" in tokenizer_config.json, or chat_template.jinja.',
      cause,
    })
  }
}
