// Calls that belong to no rollout: a person or a program gets an answer, and nothing is kept or trained on. They
// queue; whoever hangs up leaves the queue at once.

import type { ServingInfo } from '../../../protocol/api/index.ts'
import type { Attempt } from '../book/rollout.ts'
import type { Answers } from './answers.ts'
import type { Begin, CallRequest, Identity } from './attempts.ts'
import { createQueue, type QueueOptions } from './queue.ts'
import { createRate } from './rate.ts'

interface ServedParts {
  answers: Answers
  begin: Begin
  monotonic(): number
}

export interface Served {
  /** Throws 429 if too many wait. `by` writes the answer, if it is not the present policy. */
  call(identity: Identity, make: () => CallRequest, by?: Pick<Answers, 'write'>): Attempt
  info(): Omit<ServingInfo, 'listen' | 'model' | 'maxTokens'>
}

export function createServed(options: QueueOptions, { answers, begin, monotonic }: ServedParts): Served {
  const queue = createQueue(options)
  const rate = createRate({ monotonic })
  const total = { answered: 0, abandoned: 0, refused: 0, tokens: 0 }
  let firstToken: number | undefined

  const writeBy =
    (by: Pick<Answers, 'write'>): Answers['write'] =>
    async (request) => {
      const asked = monotonic()
      await queue.begin(request.signal)
      const started = monotonic()
      let tokens = 0
      try {
        const sample = await by.write({
          ...request,
          onToken(token) {
            if (tokens++ === 0) firstToken = (monotonic() - asked) / 1000
            total.tokens += 1
            rate.add(1)
            return request.onToken(token)
          },
        })
        // A client is told how likely a token is to the policy, whatever distribution the client asked for.
        return { ...sample, logprobs: sample.policyLogprobs }
      } finally {
        queue.end((monotonic() - started) / 1000)
      }
    }

  return {
    call(identity, make, by = answers) {
      try {
        queue.admit()
      } catch (error) {
        total.refused += 1
        throw error
      }
      return begin(make(), {
        ...{ identity, graceMs: 0, write: writeBy(by) },
        record() {
          total.answered += 1
        },
        forget({ isRunning }) {
          if (isRunning) total.abandoned += 1
        },
      })
    },
    info: () => ({
      ...{ running: queue.running, waiting: queue.waiting, ...total },
      tokensPerSecond: rate.perSecond(),
      ...(firstToken === undefined ? {} : { firstTokenSeconds: firstToken }),
    }),
  }
}
