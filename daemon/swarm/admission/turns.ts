// Runs jobs of many owners, a few in each turn of the event loop, fair among owners.

import { FairQueue } from '../../../protocol/fair-queue.ts'

interface TurnsOptions {
  /** Maximum total cost of the jobs in one turn of the event loop. */
  perTurn: number
  /** Maximum number of waiting jobs. */
  limit: number
}

interface Job {
  run(): void
  drop(): void
}

export class Turns<T> {
  private readonly options: TurnsOptions
  private readonly costOf: (outcome: T) => number
  private readonly soon: (run: () => void) => void
  private readonly jobs: FairQueue<Job>
  private used = 0
  private scheduled = false

  /** `soon` runs something in the next turn of the event loop. */
  constructor(
    options: TurnsOptions,
    {
      costOf,
      soon = setImmediate,
    }: { costOf(outcome: T): number; soon?: ((run: () => void) => void) | undefined },
  ) {
    this.options = options
    this.costOf = costOf
    this.soon = soon
    this.jobs = new FairQueue({ items: options.limit, first: 'oldest' })
  }

  /** Runs the job at once if none waits and this turn has room; otherwise when it is the owner's turn. */
  take(owner: string, work: () => T, dropped: () => T): T | Promise<T> {
    if (this.jobs.length === 0 && this.used < this.options.perTurn) {
      this.schedule()
      return this.spend(work)
    }
    return new Promise<T>((resolve, reject) => {
      const run = () => {
        try {
          resolve(this.spend(work))
        } catch (error) {
          reject(error)
        }
      }
      for (const job of this.jobs.push(owner, { run, drop: () => resolve(dropped()) })) job.drop()
      this.schedule()
    })
  }

  /** Drops all waiting jobs. */
  close(): void {
    for (const job of this.jobs.clear()) job.drop()
  }

  private spend(work: () => T): T {
    const outcome = work()
    this.used += this.costOf(outcome)
    return outcome
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.soon(() => {
      this.scheduled = false
      this.used = 0
      while (this.used < this.options.perTurn && this.jobs.length > 0) this.jobs.take()!.run()
      if (this.used > 0) this.schedule()
    })
  }
}
