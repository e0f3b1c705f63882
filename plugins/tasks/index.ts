// The built-in tasks, in the order in which lists show them.

import type { Task } from '../../protocol/plugin/index.ts'
import arc1d from './arc-1d.ts'
import baseConversion from './base-conversion.ts'
import basicArithmetic from './basic-arithmetic.ts'
import bf from './bf.ts'
import binaryMatrix from './binary-matrix.ts'
import calendarArithmetic from './calendar-arithmetic.ts'
import decimalArithmetic from './decimal-arithmetic.ts'
import frozenLake from './environments/frozen-lake.ts'
import keysAndDoors from './environments/keys-and-doors.ts'
import fractionSimplification from './fraction-simplification.ts'
import propositionalLogic from './propositional-logic.ts'

export const TASKS: readonly Task[] = [
  basicArithmetic,
  baseConversion,
  fractionSimplification,
  decimalArithmetic,
  calendarArithmetic,
  binaryMatrix,
  bf,
  propositionalLogic,
  arc1d,
  frozenLake,
  keysAndDoors,
]
