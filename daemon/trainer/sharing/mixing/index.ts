// The list of mixing rules. To add one, write a file beside these and add a line here.

import type { MixingRule } from './rule.ts'
import { sideStep } from './side-step.ts'

export type { MixingOptions, MixingRule, Part, StepDone } from './rule.ts'

export const MIXING_RULES = { 'side-step': sideStep } as const satisfies Record<string, MixingRule>

export const DEFAULT_RULE: MixingRule = MIXING_RULES['side-step']
