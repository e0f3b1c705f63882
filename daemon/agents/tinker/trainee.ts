// A model that a client trains: the library's calls in the order in which the client made them, and samples from the
// weights of any moment.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Weights } from '../../engine/engine.ts'
import type { Model, StepOptions } from '../../library/contract.ts'
import { policyOf } from '../../library/model.ts'
import type { StoredModel } from '../../policy/model.ts'
import { type Learning, lossesOf } from './losses.ts'
import type { Datum, Losses, Samples } from './messages.ts'
import { type SampleRequest, sampled, type Weighted } from './samples.ts'
import { createTurns } from './turns.ts'

/** Weights of one moment. */
export interface Snapshot {
  weights: Promise<Weights>
  /** How many calls that change the weights came before. */
  after: number
}

export interface Trainee {
  readonly facts: Pick<StoredModel, 'spec' | 'tokenizer'>
  readonly rank: number
  /** The log-probs of the targets. */
  forward(learning: Learning, data: readonly Datum[]): Promise<Losses>
  /** The same, and adds the gradient of the summed loss to what was added since the last step. */
  forwardBackward(learning: Learning, data: readonly Datum[]): Promise<Losses>
  /** Returns the 2-norm of the gradient before clipping. */
  step(options: StepOptions): Promise<number>
  snapshot(): Snapshot
  sample(request: SampleRequest, snapshot: Snapshot, signal: AbortSignal): Promise<Samples>
  /** `begin` gives the folder, when it is this call's turn. */
  save(begin: () => Promise<string>): Promise<void>
  /** Goes on with the weights and the optimizer of another model, which it closes. */
  load(open: () => Promise<Model>): Promise<void>
  close(): Promise<void>
}

interface Waiting {
  run(weighted: Weighted): Promise<void>
  reject(error: unknown): void
}

export function createTrainee(first: Model): Trainee {
  let model = first
  const turns = createTurns()
  let changes = 0
  const waiting = new Map<Snapshot, Waiting[]>()
  const facts = policyOf(first).model

  const losses = async (learning: Learning, data: readonly Datum[]): Promise<Losses> => {
    const scores = await model.score(learning.rows)
    return lossesOf(
      learning,
      data,
      scores.map(({ logprobs }) => logprobs),
    )
  }

  const present = (): Weighted => {
    const { sampler, scorer } = policyOf(model)
    return { generate: sampler.generate, score: scorer.score }
  }
  /** Runs all that wait for these weights, while the model has them. */
  const underOld = async (snapshot: Snapshot): Promise<void> => {
    const calls = waiting.get(snapshot)!
    waiting.delete(snapshot)
    try {
      const weights = await snapshot.weights
      await policyOf(model).under(weights, ({ generate, score }) =>
        Promise.all(calls.map(({ run }) => run({ generate: generate!, score }))),
      )
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  return {
    facts,
    rank: policyOf(first).spec.adapter!.rank,
    forward: (learning, data) => turns.alone(() => losses(learning, data)),
    forwardBackward: (learning, data) =>
      turns.alone(async () => {
        const before = await losses(learning, data)
        const { nonFinite } = await model.accumulate(learning.rows, learning.objective)
        if (nonFinite !== undefined)
          throw new WaggleError('E_USAGE', `the gradient of ${nonFinite} is not finite; nothing was added`)
        return before
      }),
    step(options) {
      changes += 1
      return turns.alone(async () => {
        const { applied, norm } = await model.step(options)
        if (!applied)
          throw new WaggleError('E_USAGE', 'the gradient is not finite; the weights are unchanged')
        return norm
      })
    },
    snapshot: () => ({
      after: changes,
      weights: turns.alone(async () => await policyOf(model).trainer.weights()),
    }),
    sample(request, snapshot, signal) {
      if (snapshot.after === changes) return turns.beside(() => sampled(request, present(), facts, signal))
      return new Promise((resolve, reject) => {
        const run: Waiting['run'] = (weighted) =>
          sampled(request, weighted, facts, signal).then(resolve, reject)
        const others = waiting.get(snapshot)
        if (others) return void others.push({ run, reject })
        waiting.set(snapshot, [{ run, reject }])
        void turns.alone(() => underOld(snapshot))
      })
    },
    save: (begin) =>
      turns.alone(async () => {
        await model.save(await begin())
      }),
    load(open) {
      changes += 1
      return turns.alone(async () => {
        const next = await open()
        const [had, has] = [policyOf(model).spec.adapter!, policyOf(next).spec.adapter!]
        if (had.rank !== has.rank || had.targets.join() !== has.targets.join()) {
          await next.close()
          throw new WaggleError('E_USAGE', `the saved adapter has rank ${has.rank}, the model ${had.rank}`, {
            hint: 'Make a client with create_training_client_from_state instead.',
          })
        }
        const before = model
        model = next
        await before.close()
      })
    },
    close: () => turns.alone(() => model.close()),
  }
}
