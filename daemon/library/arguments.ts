// Checks of what a program passes. JavaScript has no types, and an option that nobody reads would quietly give another
// model, sample or gradient than the one asked for.

import { WaggleError } from '../../protocol/errors.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import type { Message, Objective, OpenOptions, Prompt, SampleOptions, StepOptions } from './contract.ts'

/** The names of all options of a type, so that none can be forgotten. */
type Names<Options> = Record<keyof Options, true>

const OPEN: Names<OpenOptions> = {
  ...{ adapter: true, resume: true, device: true, threads: true, base: true },
  ...{ onDownload: true, onNotice: true },
}
const SAMPLE: Names<SampleOptions> = {
  ...{ seed: true, count: true, maxNewTokens: true, temperature: true, topK: true, topP: true, minP: true },
  ...{ stop: true, signal: true, onToken: true },
}
const OBJECTIVE: Names<Objective> = { loss: true, reduction: true, metrics: true, temperature: true }
export const STEP: Names<StepOptions> = {
  ...{ learningRate: true, beta1: true, beta2: true, epsilon: true },
  ...{ weightDecay: true, maxGradientNorm: true },
}

export function refuse(message: string, hint?: string): never {
  throw new WaggleError('E_USAGE', message, hint === undefined ? {} : { hint })
}

/** Throws unless the value is an object that has only these keys. */
export function checkKeys(what: string, given: unknown, names: Readonly<Record<string, true>>): void {
  const known = Object.keys(names)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    refuse(`${what} have to be an object, not ${shown(given)}`, `They are ${known.join(', ')}.`)
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(names, key))
  if (unknown !== undefined)
    refuse(
      `there is no "${unknown}" in ${what}.${didYouMean(unknown, known)}`,
      `They are ${known.join(', ')}.`,
    )
}

export function checkList(what: string, given: unknown, like: string): void {
  if (!Array.isArray(given)) refuse(`${what} have to be a list, not ${shown(given)}`, `Pass ${like}.`)
}

export function checkText(what: string, given: unknown): void {
  if (typeof given !== 'string' || given === '')
    refuse(`${what} has to be a text that is not empty, not ${shown(given)}`)
}

export function checkOpen(reference: unknown, options: OpenOptions): void {
  checkText('the name of a model', reference)
  checkKeys('the options of openModel', options, OPEN)
  const { adapter, threads, resume } = options
  if (resume !== undefined) checkText('resume', resume)
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1))
    refuse(`threads has to be a whole number from 1 up, not ${shown(threads)}`)
  if (adapter === undefined || typeof adapter === 'boolean') return
  checkKeys('the options of an adapter', adapter, { rank: true, alpha: true, targets: true })
  if (adapter.targets !== undefined)
    checkList("an adapter's targets", adapter.targets, "['q_proj', 'v_proj']")
}

const PROMPTS = 'a text, a list of messages { role, content }, or an Int32Array of token ids'

export function checkPrompt(prompt: Prompt): void {
  if (typeof prompt === 'string' || prompt instanceof Int32Array) return
  const isChat =
    Array.isArray(prompt) &&
    prompt.length > 0 &&
    prompt.every(
      (one: Partial<Message> | null) => typeof one?.role === 'string' && typeof one.content === 'string',
    )
  if (!isChat) refuse(`a prompt has to be ${PROMPTS}, not ${shown(prompt)}`)
}

export function checkSample(prompts: readonly Prompt[], options: SampleOptions): void {
  checkList('prompts', prompts, 'them as [prompt], also if there is only one')
  checkKeys('the options of sample', options, SAMPLE)
  for (const name of ['temperature', 'topK', 'topP', 'minP'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'number')
      refuse(`${name} has to be a number, not ${shown(options[name])}`)
  const { stop, signal, onToken } = options
  if (signal !== undefined && !(signal instanceof AbortSignal))
    refuse(`signal has to be an AbortSignal, not ${shown(signal)}`)
  if (onToken !== undefined && typeof onToken !== 'function')
    refuse(`onToken has to be a function, not ${shown(onToken)}`)
  if (stop === undefined) return
  checkList('the texts of stop', stop, "stop: ['</answer>']")
  for (const text of stop) checkText('each text of stop', text)
}

export function checkObjective(objective: Objective): void {
  checkKeys('the parts of an objective', objective, OBJECTIVE)
  const { loss, reduction = 'mean', temperature = 1 } = objective
  const isFormula = typeof loss === 'object' ? loss !== null : Number.isFinite(loss)
  if (!isFormula)
    refuse(
      `the loss has to be an expression, not ${shown(loss)}`,
      "Build it with `expression`, such as neg(mul(column('advantage'), column('logprob'))).",
    )
  if (reduction !== 'mean' && reduction !== 'sum')
    refuse(`reduction has to be mean or sum, not ${shown(reduction)}`)
  if (!(typeof temperature === 'number' && temperature > 0 && temperature < Number.POSITIVE_INFINITY))
    refuse(`temperature has to be a number above 0, not ${shown(temperature)}`)
}

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${typeof value[0]}s`
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value)
}
