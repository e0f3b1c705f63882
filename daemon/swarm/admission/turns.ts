// Runs jobs of many owners, a few in each turn of the event loop. Owners take turns, so an owner with many jobs mostly
// delays itself. If too many jobs wait, the owner with the most loses its oldest.

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
  /** The owner whose turn is next comes first. */
  private readonly owners = new Map<string, Job[]>()
  private waiting = 0
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
  }

  /** Runs the job at once if none waits and this turn has room; otherwise when it is the owner's turn. */
  take(owner: string, work: () => T, dropped: () => T): T | Promise<T> {
    if (this.waiting === 0 && this.used < this.options.perTurn) {
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
      this.push(owner, { run, drop: () => resolve(dropped()) })
    })
  }

  /** Drops all waiting jobs. */
  close(): void {
    while (this.waiting > 0) this.dropOne()
  }

  private spend(work: () => T): T {
    const outcome = work()
    this.used += this.costOf(outcome)
    return outcome
  }

  private push(owner: string, job: Job): void {
    const jobs = this.owners.get(owner)
    if (jobs === undefined) this.owners.set(owner, [job])
    else jobs.push(job)
    this.waiting++
    if (this.waiting > this.options.limit) this.dropOne()
    this.schedule()
  }

  private dropOne(): void {
    let most: [string, Job[]] | undefined
    for (const entry of this.owners) if (most === undefined || entry[1].length > most[1].length) most = entry
    const [owner, jobs] = most!
    this.remove(owner, jobs).drop()
  }

  private remove(owner: string, jobs: Job[]): Job {
    const job = jobs.shift()!
    this.waiting--
    if (jobs.length === 0) this.owners.delete(owner)
    return job
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.soon(() => {
      this.scheduled = false
      this.used = 0
      while (this.used < this.options.perTurn && this.waiting > 0) {
        const [owner, jobs] = this.owners.entries().next().value!
        const job = this.remove(owner, jobs)
        // Moves the owner to the end.
        if (this.owners.delete(owner)) this.owners.set(owner, jobs)
        job.run()
      }
      if (this.used > 0) this.schedule()
    })
  }
}
