// Plays episodes of a served environment with the policy. Each worker holds a session and plays one episode after
// another. Attempts at the same seed form a group. If the server fails, the rollout is dropped and played again; it is
// never scored 0.

import { createHash } from 'node:crypto'
import { HttpError } from '../../http/index.ts'
import type { ChatMessage } from '../../policy/chat/template.ts'
import type { Book } from '../book/book.ts'
import type { AgentRollout, Call, TurnReward } from '../book/rollout.ts'
import type { Conversation } from '../dialects/prompts.ts'
import { answerMessage, answerOf } from '../dialects/tools.ts'
import { EnvironmentError, LARGEST_REWARD, type ServedEnvironment, type Session } from './environment.ts'

interface PlayerOptions {
  groupSize: number
}

interface PlayerParts {
  book: Book
  /** The policy's answer to a conversation. */
  answer(rollout: AgentRollout, conversation: Conversation): Promise<Call>
  /** Resolves when another group may begin, or when `signal` is aborted. */
  room(signal: AbortSignal): Promise<void>
  /** Unsigned 31-bit. */
  seed(): number
  after(ms: number, run: () => void): () => void
  log(level: 'info' | 'warn', message: string): void
}

export interface Player {
  /** Why the player is not playing at present. */
  readonly trouble: string | undefined
  close(): Promise<void>
}

/** One attempt at a prompt. */
interface Seat {
  seed: number
  /** Whether this attempt begins a group. */
  isFirst: boolean
  /** The text that the first attempt was shown. Other attempts at the same prompt should be shown the same. */
  prompt: { first?: string }
}

const LONGEST_PAUSE_MS = 60_000

export function createPlayer(
  environment: ServedEnvironment,
  { groupSize }: PlayerOptions,
  parts: PlayerParts,
): Player {
  const { name } = environment
  const closing = new AbortController()
  const { signal } = closing
  const seats: Seat[] = []
  let trouble: string | undefined
  let workers = environment.sessions
  let hasWarned = false

  const nextSeat = (): Seat => {
    if (seats.length === 0) {
      const [seed, prompt] = [parts.seed(), {}]
      for (let i = 0; i < groupSize; i++) seats.push({ seed, prompt, isFirst: i === 0 })
    }
    return seats.shift()!
  }

  const pause = async (ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = (): void => resolve()
    const cancel = parts.after(ms, end)
    signal.addEventListener('abort', end)
    await promise
    signal.removeEventListener('abort', end)
    cancel()
  }

  /** Warns once if attempts at the same seed are shown different openings. */
  const compare = (prompt: Seat['prompt'], text: string): void => {
    prompt.first ??= text
    if (prompt.first === text || hasWarned) return
    hasWarned = true
    parts.log(
      'warn',
      `environment ${name} shows different things for one seed: its groups compare answers to different prompts`,
    )
  }

  const work = async (): Promise<void> => {
    let session: Session | undefined
    let failures = 0
    signal.addEventListener('abort', () => session?.close())
    while (!signal.aborted) {
      const seat = nextSeat()
      if (seat.isFirst) await parts.room(signal)
      if (signal.aborted) break
      try {
        session ??= await environment.open()
        await playEpisode({ environment, parts, compare }, session, seat)
        if (trouble !== undefined) parts.log('info', `environment ${name} plays again`)
        trouble = undefined
        failures = 0
      } catch (error) {
        session?.close()
        session = undefined
        // Do not try again if the prompt is too long: the attempts would all fail.
        const isTooLong = error instanceof HttpError && error.word === 'context_length_exceeded'
        if (!isTooLong) seats.unshift(seat)
        if (signal.aborted) break
        // The server has fewer sessions than configured. This worker ends, and another one takes its seat.
        if (error instanceof EnvironmentError && error.isFull && workers > 1) {
          workers -= 1
          return
        }
        failures += 1
        const message = error instanceof Error ? error.message : String(error)
        if (trouble === undefined)
          parts.log('warn', isTooLong ? `environment ${name}: ${message}` : `${message}; it is tried again`)
        trouble = message
        await pause(Math.min(LONGEST_PAUSE_MS, 500 * 2 ** Math.min(failures, 10)))
      }
    }
    session?.close()
  }

  const working = Array.from({ length: environment.sessions }, work)
  return {
    get trouble() {
      return trouble
    },
    async close() {
      closing.abort()
      await Promise.all(working)
    },
  }
}

/** Plays one episode. Its rollout is given its reward, or abandoned if anything fails. */
async function playEpisode(
  {
    environment,
    parts,
    compare,
  }: {
    environment: ServedEnvironment
    parts: Pick<PlayerParts, 'book' | 'answer'>
    compare(prompt: Seat['prompt'], text: string): void
  },
  session: Session,
  { seed, prompt }: Seat,
): Promise<void> {
  const { name } = environment
  const rollout = parts.book.open({ task: name, group: `seed ${seed}`, mode: 'train' })
  try {
    const { messages: opening, tools } = await session.reset(seed)
    compare(prompt, textOf(opening))
    const messages = withPrompt(opening, environment.prompt)
    const turns = new Map<string, TurnReward>()
    let seen = textOf(opening)
    let [value, isDone] = [0, false]
    while (!isDone && turns.size < environment.turns) {
      let call: Call
      try {
        call = await parts.answer(rollout, { messages, tools })
      } catch (error) {
        // The conversation has reached its maximum length, so the episode ends here with what it has earned.
        if (error instanceof HttpError && error.word === 'context_length_exceeded' && turns.size > 0) break
        throw error
      }
      const answer = answerOf(call, tools)
      const shown = await session.step(answer)
      messages.push(answerMessage(answer), ...shown.messages)
      turns.set(call.id, {
        value: shown.reward,
        state: createHash('sha256').update(seen).digest('hex').slice(0, 32),
      })
      seen = textOf(shown.messages)
      value += shown.reward
      isDone = shown.done
    }
    if (!isDone) value += await session.end()
    if (Math.abs(value) > LARGEST_REWARD)
      throw new EnvironmentError(`environment ${name}: an episode earned ${value}, beyond ±${LARGEST_REWARD}`)
    await parts.book.reward(rollout, { value, turns })
  } catch (error) {
    parts.book.abandon(rollout, 'environment failed')
    throw error
  }
}

const textOf = (messages: readonly ChatMessage[]): string =>
  messages.map(({ content }) => content).join('\n\n')

/** Puts the config's prompt before the first user message. */
function withPrompt(messages: readonly ChatMessage[], prompt: string | undefined): ChatMessage[] {
  if (prompt === undefined) return [...messages]
  const first = messages.findIndex(({ role }) => role === 'user')
  if (first < 0) return [...messages, { role: 'user', content: prompt }]
  return messages.map((one, i) => (i === first ? { ...one, content: `${prompt}\n\n${one.content}` } : one))
}
