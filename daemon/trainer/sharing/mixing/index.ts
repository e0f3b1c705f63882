// The list of mixing rules. To add one, write a file beside these and add a line here.

import { commonBatch } from './common-batch.ts'
import { fltrust } from './fltrust.ts'
import type { MixingRule } from './rule.ts'
import { selfCentred } from './self-centred.ts'
import { sideStep } from './side-step.ts'

export type { MixingOptions, MixingRule, Part, PartReport, StepDone, UsualPart } from './rule.ts'

export const MIXING_RULES = {
  'common-batch': commonBatch,
  'self-centred': selfCentred,
  fltrust,
  'side-step': sideStep,
} as const satisfies Record<string, MixingRule>

export type MixingRuleName = keyof typeof MIXING_RULES

export const DEFAULT_RULE: MixingRuleName = 'common-batch'
