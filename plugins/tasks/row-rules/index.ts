// The seventy rules of arc_1d.

import { COPIES } from './copies.ts'
import { FILLS } from './fills.ts'
import { GRAVITY } from './gravity.ts'
import { OTHER_MOVES, SHIFTS, WRAPPED_SHIFTS } from './moves.ts'
import { ORDERS } from './orders.ts'
import { RECOLOURS } from './recolours.ts'
import type { RowRule } from './row.ts'

export const ROW_RULES: readonly RowRule[] = [
  ...SHIFTS,
  ...WRAPPED_SHIFTS,
  ...GRAVITY,
  ...OTHER_MOVES,
  ...FILLS,
  ...COPIES,
  ...RECOLOURS,
  ...ORDERS,
]
