// What audits may cost: a share of the processor time that the node spends. Whether an audit begins is drawn each time
// that one could, with the chance that the share pays for, so that nobody can tell when the next one comes: whoever is
// followed by a node with little time is audited more seldom, and not less surely. It has no clock; the caller says
// what was spent, or the engine that an audit has for itself.

import type { Metered } from '../../engine/engine.ts'

export interface AuditBudget {
  /** Whether to compute a step again now. Call it where that is possible. */
  draws(): boolean
  /** An audit took so many processor seconds. */
  spent(seconds: number): void
  /**
   * Runs an audit on an engine of its own, and charges what that took, not what the node does beside. An engine that failed
   * cannot say: then all that the node took meanwhile is charged, which is the most in any case.
   */
  charge<Result>(engine: Metered, run: () => Promise<Result>): Promise<Result>
  /** Processor seconds of all audits, and their share of the node's; undefined before the first. */
  info(): { seconds: number; share: number } | undefined
}

/** A twentieth. */
const SHARE = 0.05
/**
 * What an audit takes of its engine's own thread, the rest included: compiler and collector have threads of the process, and
 * this one verifies and hashes. Measured alone, 1.24 to 1.33.
 */
const WHOLE = 1.3
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

  const spent = (more: number): void => {
    audits++
    seconds += more
  }

  return {
    spent,
    async charge(engine, run) {
      const before = processorSeconds()
      try {
        return await run()
      } finally {
        const own = await engine.processorSeconds().catch(() => Number.POSITIVE_INFINITY)
        spent(Math.min(WHOLE * own, processorSeconds() - before))
      }
    },
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
    info: () => (audits === 0 ? undefined : { seconds, share: seconds / processorSeconds() }),
  }
}
