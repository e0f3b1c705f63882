// A budget that fills at a constant rate, for work whose cost is known only afterwards: CPU time, bytes written. Work
// may begin while nothing is owed. Costs beyond the budget are owed and paid back by waiting, so the mean over time
// stays within the rate however large a piece of work is.

/** The balance of a budget. All amounts are in one unit, such as ms of CPU time or bytes. */
export interface Balance {
  /** When the balance was settled, in ms. */
  at: number
  /** Total use at that time, from a counter that only rises. */
  used: number
  /** Amount used beyond the budget; negative while some of the budget is left. */
  owed: number
}

interface BudgetRate {
  /** Amount that may be used per ms. */
  perMs: number
  /** Maximum amount that can be saved up while little is used. */
  mostLeft: number
}

/** The balance at time `at`, after what was used since `before`. */
export function balanceAt(before: Balance, { at, used }: Omit<Balance, 'owed'>, rate: BudgetRate): Balance {
  const owed = before.owed + Math.max(0, used - before.used) - rate.perMs * Math.max(0, at - before.at)
  return { at, used, owed: Math.max(owed, -rate.mostLeft) }
}
