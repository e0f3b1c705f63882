// What audits may cost: a share of the processor time that the node spends. Whether an audit begins is drawn each time that
// one could, with the chance that the share pays for, so that nobody can tell when the next one comes: whoever is followed
// by a node with little time is audited more seldom, and not less surely. It has no clock; the caller says what was spent.

export interface AuditBudget {
  /** Whether to compute a step again now. Call it where that is possible. */
  draws(): boolean
  /** An audit took so many processor seconds. */
  spent(seconds: number): void
  /** Processor seconds of all audits, and their share of the node's; undefined before the first. */
  info(): { seconds: number; share: number } | undefined
}

/** A twentieth. */
const SHARE = 0.05
/** Chance may go ahead of the share by so many audits. */
const AHEAD = 4

/** `processorSeconds`: of the node since its start. */
export function createAuditBudget(
  _options: object,
  { processorSeconds, random }: { processorSeconds(): number; random(): number },
): AuditBudget {
  let [audits, seconds] = [0, 0]
  /** Since when chances count, and what is left of them. */
  let [since, saved] = [processorSeconds(), 0]

  return {
    draws() {
      // What an audit takes is not known before the first.
      if (seconds === 0) return true
      const now = processorSeconds()
      const each = seconds / audits
      saved = Math.min(saved + SHARE * (now - since), AHEAD * each)
      since = now
      const chance = Math.min(1, saved / each)
      saved -= chance * each
      return random() < chance && seconds + each <= SHARE * now + AHEAD * each
    },
    spent(more) {
      audits++
      seconds += more
    },
    info: () => (audits === 0 ? undefined : { seconds, share: seconds / processorSeconds() }),
  }
}
