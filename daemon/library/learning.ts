// How a model learns: gradients add up until a step is made along their mean.

import { WaggleError } from '../../protocol/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { GRADIENT } from '../engine/trainer.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { checkKeys, checkList, checkObjective, refuse, STEP } from './arguments.ts'
import type { Model, Objective } from './contract.ts'
import { optimizerOf, tokensIn, trainable } from './rows.ts'

/** Name of a call's gradient before it is added to the accumulated one. */
const PART = 'part'

export interface LearningParts {
  policy: LivePolicy
  engine: Engine
  /** Runs calls one after another. */
  inTurn<Result>(run: () => Promise<Result>): Promise<Result>
}

export function learningCalls({
  policy,
  engine,
  inTurn,
}: LearningParts): Pick<Model, 'accumulate' | 'discard' | 'step'> {
  const { spec } = policy
  /** Number of tokens that the gradient covers, and whether it is their mean or their sum. */
  let accumulated = 0
  let reducedBy: Objective['reduction']
  return {
    accumulate: (rows, given) =>
      inTurn(async () => {
        checkList('rows', rows, 'them as [row], also if there is only one')
        if (rows.length === 0) refuse('there are no rows to learn from')
        checkObjective(given)
        const { sequences, objective } = trainable(rows, given, spec)
        const { temperature, ...formulas } = objective
        const tokens = tokensIn(sequences)
        if (!(tokens > 0))
          throw new WaggleError('E_USAGE', 'there is no token to learn from: the mask is 0 everywhere')
        const { reduction = 'mean' } = given
        if (accumulated > 0 && reduction !== reducedBy)
          throw new WaggleError(
            'E_USAGE',
            `a ${reduction} cannot be added to a gradient that is a ${reducedBy}`,
            {
              hint: 'Call step or discard first.',
            },
          )
        const isMean = reduction === 'mean'
        const into = accumulated === 0 ? GRADIENT : PART
        const report = await engine.gradient({
          sequences,
          objective: formulas,
          temperature,
          denominator: isMean ? tokens : 1,
          into,
        })
        const { loss, gradientNorm: norm, metrics, seconds, nonFinite } = report
        if (nonFinite !== undefined) return { loss, norm, metrics, tokens, seconds, nonFinite }
        const all = accumulated + tokens
        if (into === PART) {
          const terms = [
            { vector: GRADIENT, factor: isMean ? accumulated / all : 1 },
            { vector: PART, factor: isMean ? tokens / all : 1 },
          ]
          await engine.combine({ into: GRADIENT, terms })
        }
        accumulated = all
        reducedBy = reduction
        return { loss, norm, metrics, tokens, seconds }
      }),

    discard() {
      void inTurn(async () => {
        accumulated = 0
      })
    },

    step: (options) =>
      inTurn(async () => {
        if (accumulated === 0) {
          throw new WaggleError('E_USAGE', 'there is no gradient to step along', {
            hint: 'Call accumulate first; step and discard forget what was accumulated.',
          })
        }
        checkKeys('the options of step', options, STEP)
        const optimizer = optimizerOf(options)
        const tokens = accumulated
        accumulated = 0
        const { applied, norm, seconds } = await engine.step({ along: GRADIENT, optimizer })
        if (applied) await policy.advance(1)
        return { applied, norm, tokens, seconds, version: policy.reference().version }
      }),
  }
}
