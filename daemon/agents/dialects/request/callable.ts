// Tools whose calls an answer is kept to.

import { HttpError } from '../../../http/index.ts'
import type { ChatTool } from '../../../policy/chat/template.ts'
import type { CallableTool } from '../../grammar/answers.ts'
import { grammarOf, type Part } from '../../grammar/parts.ts'
import { schemaPart } from '../../grammar/schema.ts'
import { anyObject } from '../../grammar/values.ts'
import type { OfferedTools } from './offered.ts'

/** The tools, and the names of those that ask for arguments of their schema and have one that cannot be kept to. */
export function callableTools(
  { tools, strict }: OfferedTools,
  { isForced }: { isForced: boolean },
): { tools: CallableTool[]; unkept: string[] } {
  const unkept: string[] = []
  const argumentsOf = ({ function: { name, parameters = { properties: {} } } }: ChatTool): Part => {
    if (!strict.has(name) && !isForced) return anyObject
    const part = schemaPart({ type: 'object', ...(parameters as object) })
    try {
      grammarOf(part)
      return part
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      if (strict.has(name)) unkept.push(name)
      return anyObject
    }
  }
  return { tools: tools.map((tool) => ({ name: tool.function.name, arguments: argumentsOf(tool) })), unkept }
}
