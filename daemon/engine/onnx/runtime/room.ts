// If memory runs out, the call does not fail. It is retried with half the micro-batch tokens or half as many sequences
// side by side, and the smaller size is kept from then on. This only changes the order of sums.

import { type Core, type GenerateCall, generateBy } from '../../core.ts'
import { type Attempt, createAttempts } from '../../thread/attempts.ts'
import { troubleOf } from './failure.ts'

/** Limits on how much is computed at once. Shared with the core. */
export interface Room {
  /** Most tokens of a micro-batch, padding included. */
  microBatchTokens: number
  /** Most sequences decoded side by side. */
  slots: number
  /** Set by the core. Frees memory that is cached for later calls. */
  free?: () => Promise<void>
}

/** Lower limits: smaller sizes are not tried. */
const MIN = { microBatchTokens: 32, slots: 4 } as const
type Portion = keyof typeof MIN

export function withinRoom<Wrapped extends Core>(
  core: Wrapped,
  room: Room,
  { notify }: { notify: (message: string) => void },
): Wrapped {
  const portioned = async <T>(what: Portion, name: string, run: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await run()
      } catch (error) {
        if (troubleOf(error) !== 'memory' || room[what] <= MIN[what]) throw error
        room[what] = Math.max(MIN[what], Math.floor(room[what] / 2))
        notify(`out of memory: from now on ${name} ${room[what]}`)
        await room.free?.()
      }
    }
  }
  const inMicroBatches = <T>(run: () => Promise<T>): Promise<T> =>
    portioned('microBatchTokens', 'tokens of a micro-batch at most', run)
  const decode: Core['decode'] = async ({ newCalls, takeWeights }) => {
    /** Calls not yet answered. After a failure they are decoded again. */
    const open = new Map<GenerateCall, () => Attempt>()
    await portioned('slots', 'sequences side by side at most', async () => {
      const again = [...open.keys()]
      await core.decode({
        takeWeights,
        newCalls: () =>
          [...again.splice(0), ...newCalls()].map((call) => {
            const next = open.get(call) ?? createAttempts(call.request, call.steering)
            open.set(call, next)
            const { answer, refuse, ...attempt } = attemptAt(call, next, room.slots)
            return {
              ...attempt,
              answer(samples) {
                open.delete(call)
                answer(samples)
              },
              refuse(error) {
                open.delete(call)
                refuse(error)
              },
            }
          }),
      })
    })
  }
  return {
    ...core,
    train: (request) => inMicroBatches(() => core.train(request)),
    gradient: (request) => inMicroBatches(() => core.gradient(request)),
    score: (request) => inMicroBatches(() => core.score(request)),
    decode,
    generate: generateBy(decode),
  }
}

/** One attempt at a call, with at most `most` sequences side by side. */
function attemptAt(call: GenerateCall, next: () => Attempt, most: number): GenerateCall {
  const { request, steering, refuse } = call
  const { request: rest, indicesOf, joined, onToken, onFinish } = next()
  return {
    request: { ...rest, slots: Math.min(request.slots ?? most, most) },
    steering: { ...steering, onToken, onFinish, newCuts: () => indicesOf(steering.newCuts?.() ?? []) },
    answer: (samples) => call.answer(joined(samples)),
    refuse,
  }
}
