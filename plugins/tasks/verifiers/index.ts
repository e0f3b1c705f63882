// The verifiers that a dataset can name, in the order in which lists show them.

import { choice } from './choice.ts'
import { exact } from './exact.ts'
import { expression } from './expressions/expression.ts'
import { fraction } from './expressions/fraction.ts'
import { json } from './json.ts'
import { numeric } from './numeric.ts'
import { regex } from './regex/regex.ts'
import { set } from './set.ts'
import { unknown } from './unknown.ts'
import type { Verifier } from './verifier.ts'

export const VERIFIERS: readonly Verifier[] = [
  exact,
  numeric,
  choice,
  set,
  json,
  regex,
  fraction,
  expression,
  unknown,
]
export {
  type Answer,
  Fault,
  type FileVerifier,
  type Scored,
  type Settings,
  type Verifier,
} from './verifier.ts'
