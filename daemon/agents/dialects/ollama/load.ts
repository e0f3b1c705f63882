// Ollama's requests without a question, by which clients have the model loaded before they ask. Here it always is.

import type { Body } from '../dialect.ts'
import { headOf } from './request.ts'

interface Loaded {
  model: string
  /** ms since the epoch. */
  at: number
}

const DONE = { done: true, done_reason: 'load' }

/** Undefined if there are messages. */
export function chatLoaded({ messages = [] }: Body, { model, at }: Loaded): object | undefined {
  if (messages !== null && !(Array.isArray(messages) && messages.length === 0)) return undefined
  return { ...headOf({ at }, model), message: { role: 'assistant', content: '' }, ...DONE }
}

/** Undefined if there is a prompt. */
export function generateLoaded({ prompt = '' }: Body, { model, at }: Loaded): object | undefined {
  return prompt === '' || prompt === null ? { ...headOf({ at }, model), response: '', ...DONE } : undefined
}
