// The seventy rules of arc_1d.

import { COPIES } from './copies.ts'
import { FILLS } from './fills.ts'
import { GRAVITY } from './gravity.ts'
import { MOVES } from './moves.ts'
import { ORDERS } from './orders.ts'
import { RECOLOURS } from './recolours.ts'
import { REMOVALS } from './removals.ts'
import type { RowRule } from './row.ts'
import { SHIFTS, WRAPPED_SHIFTS } from './shifts.ts'

export const ROW_RULES: readonly RowRule[] = [
  ...SHIFTS,
  ...WRAPPED_SHIFTS,
  ...GRAVITY,
  ...MOVES,
  ...FILLS,
  ...REMOVALS,
  ...COPIES,
  ...RECOLOURS,
  ...ORDERS,
]
