// How a run stands beside the recorded runs of its recipe. Used by `waggle status`, the log and the terminal UI.

import { type Advice, attention } from '../advice-types.ts'
import type { RecipeInfo, RecipeLook, Snapshot } from '../snapshot/index.ts'
import { percent } from './format.ts'

/** 97.5 % quantiles of Student's t distribution by degrees of freedom, from 1. */
const T_QUANTILES = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

/** Two runs say little about a third. */
const MIN_RUNS = 3

/** How much later than the last look an evaluation may be, as a share of its steps. */
const LATE = 0.1

/** Sampled held-out accuracy that one more run would have, with 95 % probability if runs are normally distributed. */
export interface Band {
  low: number
  high: number
}

/**
 * The band at `step` for an evaluation with so many questions: recorded runs differ by their seeds and by the answers that
 * each look happened to sample, and only the second depends on the number of questions. Undefined before the first
 * recorded look, from fewer than three runs, and later than the last by more than a tenth: a run goes on while its
 * evaluation begins.
 */
export function bandAt(looks: readonly RecipeLook[], at: number, questions: number): Band | undefined {
  const end = looks.at(-1)?.step ?? 0
  const step = at <= end + Math.ceil(LATE * end) ? Math.min(at, end) : at
  const next = looks.findIndex((look) => look.step >= step)
  const [from, to] = [looks[next === 0 ? 0 : next - 1], looks[next]]
  if (!from || !to || step < from.step || Math.min(from.sampled.length, to.sampled.length) < MIN_RUNS)
    return undefined
  const part = to.step === from.step ? 0 : (step - from.step) / (to.step - from.step)
  const between = (of: (look: RecipeLook) => number): number => (1 - part) * of(from) + part * of(to)
  const mean = between(({ sampled }) => meanOf(sampled))
  const runs = Math.min(from.sampled.length, to.sampled.length)
  const variance =
    between(seedVariance) +
    (mean * (1 - mean)) / questions +
    between(({ sampled }) => varianceOf(sampled)) / runs
  const half = T_QUANTILES[Math.min(runs - 1, T_QUANTILES.length) - 1]! * Math.sqrt(variance)
  return { low: Math.max(0, mean - half), high: Math.min(1, mean + half) }
}

const meanOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length

function varianceOf(values: readonly number[]): number {
  const mean = meanOf(values)
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
}

/** Variance between runs without that of sampling answers to so many questions. */
function seedVariance({ sampled, questions }: RecipeLook): number {
  const mean = meanOf(sampled)
  return Math.max(0, varianceOf(sampled) - (mean * (1 - mean)) / questions)
}

export interface Standing {
  step: number
  accuracy: number
  band: Band
  verdict: 'within' | 'below' | 'above'
}

/** The newest evaluation beside the band; undefined where there is nothing to compare. */
export function recipeStanding({
  recipe,
  evaluations,
}: Pick<Snapshot, 'recipe' | 'evaluations'>): Standing | undefined {
  const last = evaluations?.at(-1)
  if (!recipe || recipe.isOtherModel || recipe.isOtherTask || !last) return undefined
  const band = bandAt(recipe.looks, last.step, last.prompts)
  if (!band) return undefined
  const { step, accuracy } = last
  const verdict = accuracy < band.low ? 'below' : accuracy > band.high ? 'above' : 'within'
  return { step, accuracy, band, verdict }
}

/** Such as `24 to 38 %`. */
export const bandText = ({ low, high }: Band): string => `${(100 * low).toFixed(0)} to ${percent(high, 0)}`

/** Such as `sorting: step 12: 31 %, expected 24 to 38 % (5 runs alone)`. */
export function recipeText(snapshot: Pick<Snapshot, 'recipe' | 'evaluations'>): string | undefined {
  const { recipe } = snapshot
  if (!recipe) return undefined
  const { name, looks, changed } = recipe
  const said = (text: string): string => `${name}: ${text}`
  if (recipe.isOtherModel) return said('not run by us with this model')
  if (recipe.isOtherTask) return said('nothing to compare, since the tasks differ')
  const end = looks.at(-1)
  if (!end) return said('not run by us')
  const runs = ` (${end.sampled.length} runs alone)`
  const differs = changed.length > 0 ? `; ${differsText(recipe)}` : ''
  const standing = recipeStanding(snapshot)
  if (standing) {
    const { step, accuracy, band } = standing
    return said(`step ${step}: ${percent(accuracy, 0)}, expected ${bandText(band)}${runs}${differs}`)
  }
  const last = snapshot.evaluations?.at(-1)
  const band = bandAt(looks, end.step, last?.prompts ?? end.questions)
  if (end.step === 0) return undefined
  if (!band) {
    const reached = end.sampled.map((share) => percent(share, 0)).join(' and ')
    const count = end.sampled.length === 1 ? '1 run' : `${end.sampled.length} runs`
    return said(`${reached} at step ${end.step} in ${count} alone, too few for a band${differs}`)
  }
  return said(`${bandText(band)} expected at step ${end.step}, its last${runs}${differs}`)
}

/** The same for a narrow line, longest first. Empty where there is nothing to compare. */
export function recipeTexts(snapshot: Pick<Snapshot, 'recipe' | 'evaluations'>): string[] {
  const standing = recipeStanding(snapshot)
  const long = recipeText(snapshot)
  if (!standing || !long) return []
  const short = `expected ${bandText(standing.band)} at step ${standing.step}`
  return [`recipe ${long}`, `recipe ${snapshot.recipe!.name}: ${short}`, short]
}

const differsText = ({ changed }: RecipeInfo): string =>
  `this config differs in ${changed.slice(0, 3).join(', ')}${changed.length > 3 ? ` and ${changed.length - 3} more` : ''}`

/** That the newest evaluation is below the band, and what usually is the cause. */
export function belowBand(snapshot: Snapshot): Advice | undefined {
  const standing = recipeStanding(snapshot)
  if (!snapshot.recipe || standing?.verdict !== 'below') return undefined
  const { step, accuracy, band } = standing
  const { name, changed } = snapshot.recipe
  return attention(
    `held-out accuracy at step ${step} is ${percent(accuracy, 0)}; runs of the recipe ${name} had ${bandText(band)}`,
    changed.length > 0
      ? `the usual cause: ${differsText(snapshot.recipe)}; \`recipes ${name}\` has its values`
      : 'read answers with `rollouts --full`: the usual causes are answers without the form that is asked for, and answers that are cut off',
  )
}
