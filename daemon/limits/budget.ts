// A budget that fills at a constant rate, for work whose cost is known only afterwards: CPU time, bytes written. Work may
// begin while nothing is owed. What it cost beyond the budget is owed, and paid back by waiting, so the mean over time
// stays within the rate however large a piece of work is.

/** All in one unit, such as ms of CPU time or bytes. */
export interface Balance {
  /** ms, when it was settled. */
  at: number
  /** Total use at that time, a counter that only rises. */
  used: number
  /** Used beyond the budget; negative while some of the budget is left. */
  owed: number
}

export interface BudgetRate {
  /** What may be used in a ms. */
  perMs: number
  /** Most that can be saved up while little is used. */
  mostLeft: number
}

/** The balance after the time since `before`. */
export function settle(before: Balance, { at, used }: Omit<Balance, 'owed'>, rate: BudgetRate): Balance {
  const owed = before.owed + Math.max(0, used - before.used) - rate.perMs * Math.max(0, at - before.at)
  return { at, used, owed: Math.max(owed, -rate.mostLeft) }
}
