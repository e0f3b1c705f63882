// A clock and timers that move only when they are told to.

export class VirtualClock {
  ms = new Date(2026, 5, 1, 12).getTime()
  private timers: Array<{ at: number; run: () => void }> = []
  now = () => this.ms
  after = (ms: number, run: () => void) => {
    const timer = { at: this.ms + ms, run }
    this.timers.push(timer)
    return () => void this.timers.splice(this.timers.indexOf(timer), 1)
  }
  /** The machine sleeps: time goes on, and timers are late. */
  sleep(ms: number): void {
    this.ms += ms
    for (const timer of this.timers) timer.at += ms
  }
  /** Runs what is due within this time. */
  async pass(ms: number): Promise<void> {
    const end = this.ms + ms
    for (;;) {
      const [next] = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.ms = Math.max(this.ms, next.at)
      this.timers.splice(this.timers.indexOf(next), 1)
      next.run()
      // What the timer began may be asynchronous.
      for (let i = 0; i < 20; i++) await Promise.resolve()
    }
    this.ms = end
  }
}
