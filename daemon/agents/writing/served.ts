// Calls that belong to no rollout: a person or a program gets an answer, which is kept only if the node's owner wants it to
// learn from use. They queue; whoever hangs up leaves the queue at once.

import type { ServingInfo } from '../../../protocol/api/index.ts'
import type { Sample } from '../../engine/engine.ts'
import type { Attempt, Call } from '../book/rollout.ts'
import type { Answers } from './answers.ts'
import type { Begin, CallRequest, Identity } from './attempts.ts'
import { createQueue, type QueueOptions } from './queue.ts'
import { createRate } from './rate.ts'

interface ServedParts {
  answers: Answers
  begin: Begin
  monotonic(): number
}

interface Choice {
  /** Writes the answer, if it is not the present policy. */
  by?: Pick<Answers, 'write'>
  /** Takes the present policy's answer, with the log-probs of the distribution that it was drawn from. */
  keep?(request: CallRequest, call: Call): void
}

export interface Served {
  /** Throws 429 if too many wait. */
  call(identity: Identity, make: () => CallRequest, choice?: Choice): Attempt
  info(): Omit<ServingInfo, 'listen' | 'model' | 'maxTokens'>
}

export function createServed(options: QueueOptions, { answers, begin, monotonic }: ServedParts): Served {
  const queue = createQueue(options)
  const rate = createRate({ monotonic })
  const total = { answered: 0, abandoned: 0, refused: 0, tokens: 0 }
  let firstToken: number | undefined

  const writeBy =
    (by: Pick<Answers, 'write'>, onSample: (sample: Sample) => void): Answers['write'] =>
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
        onSample(sample)
        // A client is told how likely a token is to the policy, whatever distribution the client asked for.
        return { ...sample, logprobs: sample.policyLogprobs }
      } finally {
        queue.end((monotonic() - started) / 1000)
      }
    }

  return {
    call(identity, make, { by = answers, keep } = {}) {
      try {
        queue.admit()
      } catch (error) {
        total.refused += 1
        throw error
      }
      const request = make()
      let drawn: Sample | undefined
      const onSample = (sample: Sample): void => {
        drawn = sample
      }
      return begin(request, {
        ...{ identity, graceMs: 0, write: writeBy(by, onSample) },
        record(call) {
          total.answered += 1
          if (by === answers) keep?.(request, { ...call, sample: drawn! })
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
