// The built-in tasks, in display order.

import type { Task } from '../../protocol/plugin/index.ts'
import baseConversion from './arithmetic/base-conversion.ts'
import basicArithmetic from './arithmetic/basic-arithmetic.ts'
import decimalArithmetic from './arithmetic/decimal-arithmetic.ts'
import fractionSimplification from './arithmetic/fraction-simplification.ts'
import numberSorting from './arithmetic/number-sorting.ts'
import calendarArithmetic from './calendar/calendar-arithmetic.ts'
import frozenLake from './environments/frozen-lake.ts'
import keysAndDoors from './environments/keys-and-doors.ts'
import arc1d from './grids/arc-1d.ts'
import binaryMatrix from './grids/binary-matrix.ts'
import propositionalLogic from './logic/propositional-logic.ts'
import bf from './programs/bf.ts'
import jsonExtraction from './text/json-extraction.ts'

export const TASKS: readonly Task[] = [
  basicArithmetic,
  baseConversion,
  fractionSimplification,
  decimalArithmetic,
  numberSorting,
  calendarArithmetic,
  binaryMatrix,
  bf,
  propositionalLogic,
  arc1d,
  jsonExtraction,
  frozenLake,
  keysAndDoors,
]
