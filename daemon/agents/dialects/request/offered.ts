// Reads the tools that a request offers. The model knows functions only, so other kinds become functions where that
// loses nothing: the tools of a namespace, and tools that take free text. When the model calls one, the client gets the
// call in the shape of its own tool. Kinds that the API's server runs, such as web search, are left out and named.

import type { ChatTool } from '../../../policy/chat/template.ts'
import { invalid } from '../../errors.ts'
import type { Body } from '../dialect.ts'
import { closed } from '../spans.ts'
import { argumentsOf, type ToolCall } from '../tools.ts'
import { objectOf } from './objects.ts'

/** What a tool is to the client. */
export interface Origin {
  name: string
  namespace?: string
  /** It takes free text instead of JSON. */
  isCustom?: boolean
}

export interface OfferedTools {
  /** As the model sees them. */
  tools: ChatTool[]
  /** By the name that the model sees. */
  origins: ReadonlyMap<string, Origin>
  /** The names of tools whose arguments must be of their schema. */
  strict: ReadonlySet<string>
  /** What is left out, such as tools.web_search. */
  ignored: string[]
}

export const NO_TOOLS: OfferedTools = { tools: [], origins: new Map(), strict: new Set(), ignored: [] }

const MAX_TOOLS = 256
const NAME = /^[\w.-]{1,128}$/
/** The parameter of a function that stands for a tool that takes free text. */
const TEXT = 'input'

/** In the chat API a tool's fields are in `function` or `custom`; in the responses API they are directly in the tool. */
export function toolsIn({ tools: given, tool_choice: choice }: Body): OfferedTools {
  if (given === undefined || given === null) return NO_TOOLS
  if (!Array.isArray(given) || given.length > MAX_TOOLS)
    throw invalid(`"tools" must be a list of at most ${MAX_TOOLS} tools`)
  const tools: ChatTool[] = []
  const origins = new Map<string, Origin>()
  const strict = new Set<string>()
  const ignored = new Set<string>()
  const read = (tool: unknown, namespace?: string): void => {
    const outer = objectOf(tool, 'a tool')
    const { type } = outer
    if (typeof type !== 'string') throw invalid('a tool needs a "type" such as "function"')
    if (type === 'namespace' && namespace === undefined) {
      const name = nameIn(outer)
      if (!Array.isArray(outer.tools)) throw invalid(`the namespace ${name} needs "tools", a list`)
      for (const inner of outer.tools.slice(0, MAX_TOOLS + 1)) read(inner, name)
      return
    }
    if (type !== 'function' && type !== 'custom') return void ignored.add(type)
    const fields = objectOf(outer[type] ?? tool, 'a tool')
    const name = nameIn(fields)
    const shown = shownName(name, namespace)
    tools.push(type === 'function' ? functionOf(shown, fields) : textFunctionOf(shown, fields))
    if (fields.strict === true) strict.add(shown)
    origins.set(shown, {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(type === 'custom' ? { isCustom: true } : {}),
    })
    if (tools.length > MAX_TOOLS) throw invalid(`the namespaces in "tools" hold more than ${MAX_TOOLS} tools`)
  }
  for (const tool of given) read(tool)
  return {
    tools: choice === 'none' ? [] : tools,
    ...{ origins, strict },
    ignored: [...ignored].map((type) => `tools.${type}`),
  }
}

/** The name under which the model knows a tool. */
export function shownName(name: string, namespace: string | undefined): string {
  return namespace === undefined ? name : `${namespace}.${name}`
}

function nameIn({ name }: Record<string, unknown>): string {
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalid('a tool needs a "name" of letters, digits, ".", "_" and "-"')
  return name
}

function descriptionIn({ description }: Record<string, unknown>, name: string): string | undefined {
  if (description === undefined || description === null) return undefined
  if (typeof description !== 'string') throw invalid(`the description of the tool ${name} must be a string`)
  return description
}

function functionOf(name: string, fields: Record<string, unknown>): ChatTool {
  const description = descriptionIn(fields, name)
  const { parameters } = fields
  return {
    type: 'function',
    function: {
      name,
      ...(description ? { description } : {}),
      ...(parameters ? { parameters: objectOf(parameters, `the parameters of the tool ${name}`) } : {}),
    },
  }
}

/** A tool that takes free text, as a function of one string. */
function textFunctionOf(name: string, fields: Record<string, unknown>): ChatTool {
  const description = descriptionIn(fields, name)
  const { format } = fields
  const grammar =
    format === undefined || format === null ? undefined : grammarIn(objectOf(format, 'a format'))
  const words = [description, grammar && `Its input follows this grammar:\n${grammar}`].filter(Boolean)
  return {
    type: 'function',
    function: {
      name,
      ...(words.length > 0 ? { description: words.join('\n\n') } : {}),
      parameters: { type: 'object', properties: { [TEXT]: { type: 'string' } }, required: [TEXT] },
    },
  }
}

/** In the chat API the grammar is in `grammar`; in the responses API its fields are directly in the format. */
function grammarIn(format: Record<string, unknown>): string | undefined {
  const { definition } = objectOf(format.grammar ?? format, 'a format')
  return typeof definition === 'string' ? definition : undefined
}

/** The arguments of a function that stands for a tool that takes free text. */
export function textArguments(text: string): Record<string, unknown> {
  return { [TEXT]: text }
}

type Arguments = Pick<ToolCall, 'arguments' | 'isCut'>

/** The free text in such a function's arguments. If the model wrote something else, all of it. */
export function textOfArguments({ arguments: json, isCut = false }: Arguments): string {
  try {
    const values = JSON.parse(isCut ? closed(json) : json) as Record<string, unknown> | null
    const text = values?.[TEXT]
    return typeof text === 'string' ? text : isCut ? '' : json
  } catch {
    return json
  }
}

/** A call's arguments for clients that expect an object, whatever the model wrote. */
export function inputOf(call: Arguments): unknown {
  const values = argumentsOf(call.isCut ? closed(call.arguments) : call.arguments)
  const isObject = typeof values === 'object' && values !== null && !Array.isArray(values)
  return isObject ? values : { [TEXT]: textOfArguments(call) }
}
