// The tasks for a NeMo Gym resources server. The server does not provide them: they are rows of a JSON Lines file. Each
// row contains the request for the model, and what the server needs to judge the answer.

import { z } from 'zod'
import { WaggleError } from '../../../../protocol/errors.ts'
import { parseExactly } from '../../../../protocol/json.ts'
import type { ChatMessage } from '../../../policy/chat/template.ts'
import { itemsIn } from '../../dialects/items.ts'
import { type Origin, toolsIn } from '../../dialects/request/offered.ts'
import type { Opening } from '../environment.ts'

export interface Row extends Opening {
  /** The row as it is in the file, which is sent to the server. */
  whole: Record<string, unknown>
}

const shape = z.looseObject({
  responses_create_params: z.looseObject({ input: z.unknown(), instructions: z.string().nullish() }),
})

/** Throws E_DATASET if there are no rows, or with the line of the first invalid one. `file` is named in the error. */
export function rowsIn(text: string, file: string): Row[] {
  const rows = text
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [rowOf(line, `${file}:${i + 1}`)]))
  if (rows.length === 0)
    throw new WaggleError('E_DATASET', `${file} has no rows`, {
      hint: 'Each line must be the JSON of a row, as in the data of NeMo Gym.',
    })
  return rows
}

function rowOf(line: string, where: string): Row {
  try {
    const whole = shape.parse(parseExactly(line))
    const { input, instructions, ...params } = whole.responses_create_params
    const system: ChatMessage[] = instructions ? [{ role: 'system', content: instructions }] : []
    const unshown = new Set<string>()
    const read = itemsIn(input, unshown)
    const { tools, origins, ignored } = toolsIn(params)
    const other = [...unshown, ...ignored, ...[...origins].filter(isNoFunction).map(([name]) => name)]
    if (other.length > 0)
      throw new Error(`only messages and functions can be played, not ${other.join(', ')}`)
    return { whole, messages: [...system, ...read], tools }
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? issueOf(cause) : (cause as Error).message
    throw new WaggleError('E_DATASET', `${where}: ${reason}`, {
      hint: 'A row needs `responses_create_params` with an `input` of text messages, as in the data of NeMo Gym.',
      cause,
    })
  }
}

/** The server is asked by the tool's name, so it must be the name that the model sees. */
function isNoFunction([shown, { name, isCustom }]: [string, Origin]): boolean {
  return isCustom === true || name !== shown
}

function issueOf({ issues: [first] }: z.ZodError): string {
  return `${first!.path.join('.') || 'the row'}: ${first!.message}`
}
