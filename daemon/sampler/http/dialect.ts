// What differs between inference servers: their calls, and the shapes of their answers.

import { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { AdapterFile, BackEnd } from '../back-end.ts'
import type { Server } from './server.ts'

interface CompletionRequest {
  prompt: readonly number[]
  seed: number
  temperature: 0 | 1
  maxNewTokens: number
  stopTokens: readonly number[]
  /** The adapter's name. */
  adapter: string
}

export interface Answer {
  tokens: readonly number[]
  /** Log-prob of each token under the policy itself: no temperature, no truncation. */
  logprobs: readonly number[]
  /** `gaps` means that some log-probs are missing; the sequence is then left out. */
  finish: 'stop' | 'length' | 'gaps'
}

export interface Dialect extends Pick<BackEnd, 'format' | 'isExclusive'> {
  kind: string
  /** Throws E_SAMPLER if the server cannot be used. Returns the size of its model's vocabulary, if known. */
  open(server: Server): Promise<{ vocabulary?: number | undefined }>
  encode?(server: Server, text: string): Promise<readonly number[] | undefined>
  load(server: Server, adapter: AdapterFile): Promise<void>
  unload(server: Server, name: string): Promise<void>
  path: string
  body(request: CompletionRequest): object
  /** Throws E_SAMPLER if the answer does not have the documented shape. */
  read(answer: unknown): Answer
}

export const tokenIds = z.array(z.int().nonnegative()).max(1_048_576)

/** Parses the parts that are needed. The server may send more. */
export function shaped<Shape extends z.ZodType>(shape: Shape, answer: unknown, of: string): z.output<Shape> {
  const parsed = shape.safeParse(answer)
  if (parsed.success) return parsed.data
  const [first] = parsed.error.issues
  const where = safeText(first?.path.join('.') || 'the answer', { limit: 80, line: true })
  throw new WaggleError(
    'E_SAMPLER',
    `the external sampler's answer to ${of} is not as expected: ${where}: ${safeText(first?.message ?? '', { limit: 160, line: true })}`,
    {
      hint: 'Is sampler.kind the right kind of server, and is it recent? docs/samplers.md has the versions.',
    },
  )
}
