// Renders a model's chat template, an untrusted Jinja program from a download. It gets few globals and a bound on what
// it may compute and hold in memory, but neither clock nor environment. So a prompt is the same on every node and on
// every day. What a construct means is what Python's Jinja makes of it, as Hugging Face's transformers sets it up.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { formatDate } from './jinja/built-in/strftime.ts'
import { renderTemplate } from './jinja/render.ts'
import type { Body } from './jinja/syntax/nodes.ts'
import { parseTemplate } from './jinja/syntax/parser.ts'

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

interface RenderOptions {
  /** End where the model's next answer begins. */
  prompt: boolean
  tools?: readonly ChatTool[] | undefined
  /** Whether a thought comes first, for templates that ask; undefined for what they do without being told. */
  thinking?: boolean | undefined
}

export interface ChatTemplate {
  readonly source: string
  /** The conversation as text; with `prompt`, up to where the model's next answer begins. Throws E_MODEL. */
  render(messages: readonly ChatMessage[], options: RenderOptions): string
}

const MAX_CHARS = 4 * 1024 * 1024
/** The longest of published models' has 30,000 characters. */
const MAX_SOURCE = 256 * 1024

/**
 * `tokens` are the special tokens that templates refer to by name, such as bos_token. `toolUse` is the template of
 * conversations with tools, if the model has another one for them. Throws E_MODEL if a template does not parse.
 */
export function createChatTemplate(
  source: string,
  tokens: Readonly<Record<string, string>>,
  { toolUse }: { toolUse?: string | undefined } = {},
): ChatTemplate {
  const plain = parsed(source)
  const withTools = toolUse === undefined ? plain : parsed(toolUse)
  return {
    source,
    render(messages, { prompt, tools = [], thinking }) {
      return guarded(() => {
        const text = renderTemplate(tools.length > 0 ? withTools : plain, {
          ...tokens,
          messages,
          tools: tools.length > 0 ? tools : null,
          documents: null,
          add_generation_prompt: prompt,
          ...(thinking === undefined ? {} : { enable_thinking: thinking }),
          date_string: formatDate('%d %b %Y'),
        })
        if (text.length > MAX_CHARS) throw new RangeError(`its text has ${text.length} characters`)
        return text
      })
    },
  }
}

function parsed(source: string): Body {
  return guarded(() => {
    if (source.length > MAX_SOURCE) throw new RangeError(`it has ${source.length} characters`)
    return parseTemplate(source)
  })
}

function guarded<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (cause) {
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
