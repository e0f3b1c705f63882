// What an answer may be as a grammar: of a form, a tool call, or text in which calls are as their tools describe them.

import type { Grammar } from '../../engine/grammar/grammar.ts'
import {
  characters,
  either,
  grammarOf,
  oneOf,
  optional,
  type Part,
  repeated,
  sequence,
  text,
} from './parts.ts'
import { regexOf, without } from './regex.ts'
import { schemaPart } from './schema.ts'
import { space } from './values.ts'

/** What an answer must be. */
export type Form =
  | { kind: 'schema'; schema: unknown }
  | { kind: 'regex'; regex: string }
  | { kind: 'choice'; choices: readonly string[] }

/** How a call is written: text before the tool's name, between it and the arguments, and after them. */
export interface CallText {
  before: string
  between: string
  after: string
}

/** A tool and what its arguments may be. */
export interface CallableTool {
  name: string
  arguments: Part
}

export interface AnswerForm {
  form?: Form | undefined
  tools: readonly CallableTool[]
  call?: CallText | undefined
  /** The prompt ends with the start of a call: of this tool, or of any. */
  begun?: { name?: string } | undefined
  /** There is one call at most. */
  isSingle: boolean
  /** Calls must be as their tools describe them. */
  isStrict: boolean
  /** The prompt has opened a thought, which comes first. */
  inThought?: string | undefined
}

const MORE_CALLS = 15

/** Undefined if anything may be answered. Throws 400 for a form that cannot be kept. */
export function answerGrammar(answer: AnswerForm): Grammar | undefined {
  const part = answerPart(answer)
  if (!part) return undefined
  const { inThought } = answer
  return grammarOf(
    inThought === undefined ? part : sequence(textPart({ upTo: inThought }), space, space, part),
  )
}

function answerPart(answer: AnswerForm): Part | undefined {
  const { form, tools, call, begun, isStrict } = answer
  const calls = call && tools.length > 0 ? callsOf(answer, call) : undefined
  if (begun) return calls?.begun(begun.name)
  if (form) return calls ? either(formPart(form), calls.whole) : formPart(form)
  return isStrict && calls ? textWithCalls(calls, call!) : undefined
}

/** Calls are recognised by their tag, or as the whole answer, which then begins with a bracket. */
function textWithCalls({ whole, named, more }: Calls, { before }: CallText): Part | undefined {
  if (/^\s*[[{]/.test(before)) return either(whole, textPart({}))
  const [opening, tag] = /^\s*(<[^<>\s]+>)/.exec(before) ?? []
  if (opening === undefined) return undefined
  const call = sequence(text(before.slice(opening.length)), named, more)
  return either(textPart({ without: tag }), sequence(textPart({ upTo: tag }), call))
}

export function formPart(form: Form): Part {
  switch (form.kind) {
    case 'schema':
      return schemaPart(form.schema)
    case 'choice':
      return oneOf(form.choices)
    case 'regex':
      // The whole text is of the expression, whether it says so or not.
      return either(
        ...regexOf(form.regex, { character: characters, where: 'the form of the answer' }).map(
          ({ part }) => part,
        ),
      )
  }
}

interface Calls {
  whole: Part
  /** A call after the text before its name. */
  named: Part
  /** Further calls, if there may be some. */
  more: Part
  /** What follows where a call has been begun, of this tool or of any. */
  begun(name: string | undefined): Part
}

function callsOf({ tools, isSingle }: AnswerForm, { before, between, after }: CallText): Calls {
  const argumentsOf = (tool: CallableTool): Part => sequence(space, tool.arguments, text(after))
  const named = either(...tools.map((tool) => sequence(text(tool.name + between), argumentsOf(tool))))
  const another = sequence(optional(text('\n')), text(before.trimStart()), named)
  const more = repeated(another, 0, isSingle ? 0 : MORE_CALLS)
  return {
    ...{ named, more },
    whole: sequence(text(before), named, more),
    begun(name) {
      const tool = tools.find((one) => one.name === name)
      return tool ? argumentsOf(tool) : sequence(named, more)
    },
  }
}

const codesOf = (characters: string): number[] => [...characters].map((char) => char.codePointAt(0)!)
const rangesOf = (codes: readonly number[]) => codes.map((code) => [code, code] as const)
const SPACES = codesOf(' \n\t\r')
const BRACKETS = codesOf('[{')

/**
 * Text that does not begin with a bracket: up to and with the first of a tag, or without the tag anywhere, or any. The
 * states are the lengths of the tag's start at the end of the text (Knuth, Morris and Pratt 1977).
 */
function textPart(tags: { upTo?: string | undefined; without?: string | undefined }): Part {
  const { upTo } = tags
  const tag = upTo ?? tags.without ?? ''
  const codes = [...new Set(codesOf(tag))]
  return (build, from, to) => {
    const lengths = Array.from({ length: Math.max(1, tag.length) }, () => build.state())
    const grow = (state: number, length: number, not: readonly number[]): void => {
      const read = (given: Parameters<typeof characters>[0], next: number): void =>
        characters(given)(build, state, next)
      read(without(rangesOf([...codes, ...not])), lengths[0]!)
      for (const code of codes) {
        const end = tag.slice(0, length) + String.fromCodePoint(code)
        let next = end.length
        while (!tag.startsWith(end.slice(end.length - next))) next -= 1
        if (next < tag.length) read(rangesOf([code]), lengths[next]!)
        else if (upTo !== undefined) read(rangesOf([code]), to)
      }
      if (upTo === undefined) build.empty(state, to)
    }
    for (const [length, state] of lengths.entries()) grow(state, length, [])
    const start = build.state()
    build.empty(from, start)
    characters(rangesOf(SPACES))(build, start, start)
    grow(start, 0, [...SPACES, ...BRACKETS])
  }
}
