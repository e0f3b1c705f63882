// Asks kept prompts again while nobody waits for an answer, and scores the answers with the owner's verifier. Answers of the
// present policy to one prompt are a group like any other of the node.

import type { Group, PolicyReference } from '../../../protocol/train/index.ts'
import type { Sample } from '../../engine/engine.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Answers } from '../writing/answers.ts'
import type { Conversation } from './conversation.ts'
import type { Conversations } from './conversations.ts'
import { trainingGroup } from './groups.ts'

interface AgainOptions {
  groupSize: number
  /** Most tokens of one answer, and of prompt and answer together. */
  maxNewTokens: number
  context: number
  author: string
}

interface AgainParts {
  conversations: Pick<Conversations, 'list' | 'askedAgain'>
  answers: Answers
  tokenizer: Pick<Tokenizer, 'decodeCompletion'>
  policy(): PolicyReference
  isThrownAway(version: number): boolean
  /** 0 to 1, for an answer to what was asked. */
  score(asked: string, answer: string): number
  /** Nobody waits for an answer, and there is room for another group. */
  isFree(): boolean
  onGroup(group: Group): Promise<void>
  after(ms: number, run: () => void): () => void
  now(): number
  randomBytes(size: number): Buffer
  log(level: 'warn', message: string): void
}

/** How often it is seen whether the node is free. */
const LOOK_MS = 1000

/**
 * The prompt to ask: of those asked least often, the newest. Prompts whose answers had to keep to a form are not asked,
 * because the form is not kept.
 */
export function nextPrompt(
  newestFirst: readonly Conversation[],
  { lineage, longest }: { lineage: string; longest: number },
): Conversation | undefined {
  const times = ({ again }: Conversation): number => again?.times ?? 0
  return newestFirst
    .filter((one) => one.lineage === lineage && !one.sample.allowed && one.prompt.length < longest)
    .reduce<Conversation | undefined>(
      (best, one) => (best && times(best) <= times(one) ? best : one),
      undefined,
    )
}

/** Runs until it is closed. */
export function startAsking(options: AgainOptions, parts: AgainParts): { close(): Promise<void> } {
  const closing = new AbortController()
  const { signal } = closing
  const { conversations, answers, tokenizer, policy } = parts

  const ask = async (one: Conversation): Promise<void> => {
    const { prompt, asked } = one
    const maxNewTokens = Math.min(options.maxNewTokens, options.context - prompt.length)
    const write = (): Promise<Sample> => answers.write({ prompt, maxNewTokens, onToken: () => false, signal })
    const samples = await Promise.all(Array.from({ length: options.groupSize }, write))
    const isVoid = ({ finish, version }: Sample): boolean =>
      finish === 'aborted' || parts.isThrownAway(version)
    if (samples.some(isVoid)) return
    const members = samples.map((sample) => {
      const text = tokenizer.decodeCompletion(sample.tokens)
      return { ...one, sample, text, rating: { reward: parts.score(asked, text) } }
    })
    const id = parts.randomBytes(32).toString('hex')
    // It may have been deleted meanwhile.
    if (!conversations.askedAgain(one.id, id)) return
    const { author } = options
    await parts.onGroup(trainingGroup(members, { id, author, policy: policy(), now: parts.now() }))
  }

  const pause = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = (): void => resolve()
    const cancel = parts.after(LOOK_MS, end)
    signal.addEventListener('abort', end, { once: true })
    await promise
    signal.removeEventListener('abort', end)
    cancel()
  }

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const limits = { lineage: policy().lineage, longest: options.context }
      const one = parts.isFree() ? nextPrompt(conversations.list(), limits) : undefined
      try {
        if (one) await ask(one)
      } catch (error) {
        if (signal.aborted) return
        parts.log(
          'warn',
          `a kept prompt was not asked again: ${error instanceof Error ? error.message : error}`,
        )
        await pause()
      }
      if (!one) await pause()
    }
  }

  const running = run()
  return {
    async close() {
      closing.abort()
      await Promise.allSettled([running])
    },
  }
}
