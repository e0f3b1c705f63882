// The built-in tasks, in the order in which lists show them.

import type { Task } from '../../protocol/plugin/index.ts'
import baseConversion from './base-conversion.ts'
import basicArithmetic from './basic-arithmetic.ts'
import decimalArithmetic from './decimal-arithmetic.ts'
import fractionSimplification from './fraction-simplification.ts'

export const TASKS: readonly Task[] = [
  basicArithmetic,
  baseConversion,
  fractionSimplification,
  decimalArithmetic,
]
