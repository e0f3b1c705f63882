// A verifier reads the answer key of a dataset, and decides whether a model's answer is right.
//
// The dataset's settings and answers are checked when it is loaded; a mistake is reported as a Fault that says what
// to do. Texts from a model or a peer are treated as hostile: `accepts` is total, strict and bounded in time.

import type { Answer, Answered } from '../../../protocol/plugin/index.ts'
import type { Verdict } from '../../../protocol/train/index.ts'

export type { Answer } from '../../../protocol/plugin/index.ts'

/** A mistake in a dataset or its settings; the message says what is wrong and what to write instead. */
export class Fault extends Error {
  override readonly name = 'Fault'
}

export type Settings = Readonly<Record<string, unknown>>

export interface Verifier {
  name: string
  /** One line for the documentation. */
  summary: string
  /**
   * Checks settings and fills in defaults; the result is plain JSON. Throws Fault. Receives only keys listed in `keys`.
   */
  settings(given: Settings): Settings
  /** The names of all settings. */
  keys: readonly string[]
  /**
   * One right answer as a text, for people and hints; undefined if the answer is only a description, such as a pattern.
   * Throws Fault.
   */
  key(answer: Answer, settings: Settings): string | undefined
  /**
   * Whether a trimmed text is right. Never throws for an answer that `key` accepted. Takes under 50 ms for any text.
   */
  accepts(text: string, answer: Answer, settings: Settings): boolean
}

export type Scored = Pick<Verdict, 'score' | 'parts'>

/** A verifier from a file that the config names. */
export interface FileVerifier {
  name: string
  /** Digest of the file's contents; part of the dataset's version. */
  digest: string
  /** 0 to 1, for the whole completion. Never throws. */
  score(given: Omit<Answered, 'settings'>, settings: Settings): Scored
}

export function flag(given: Settings, name: string): boolean {
  const value = given[name] ?? false
  if (typeof value !== 'boolean') throw new Fault(`"${name}" must be true or false`)
  return value
}

export function amount(given: Settings, name: string): number {
  const value = given[name] ?? 0
  if (typeof value !== 'number' || !(value >= 0 && value <= Number.MAX_VALUE))
    throw new Fault(`"${name}" must be a number from 0 up`)
  return value
}

/** A single answer as text. */
export function oneAnswer(answer: Answer): string {
  if (typeof answer === 'object') throw new Fault('"answer" must be one text or number here, not a list')
  return String(answer)
}

/** Answers as texts. */
export const textsOf = (answer: Answer): string[] =>
  typeof answer === 'object' ? answer.map(oneAnswer) : [oneAnswer(answer)]
