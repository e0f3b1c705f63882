// Tracks the tasks, levels and lengths of this node's recent prompts. Foreign groups in a batch keep to that mix, so
// that a peer cannot steer this node by its choice of prompts.
//
// Prompts without a signal count as well: a node chooses what it asks, but not which prompts give a signal.

import type { Group } from '../../../protocol/train/index.ts'

export interface PromptMix {
  /** Adds an own group, with or without a signal. */
  add(group: Group): void
  /** The task and level of a group, or OTHER if this node has not asked any such prompt lately. */
  stratum(group: Group): string
  /** Maximum number of groups of a stratum among `count` foreign groups. */
  most(stratum: string, count: number): number
  /** Mean tokens of a recent own group; undefined before the first. */
  readonly tokens: number | undefined
}

export const OTHER = 'other'
/** Number of own prompts that make up the mix. */
const RECENT = 256
/**
 * A stratum may be this many times as frequent among foreign groups as among own prompts. Easy strata give more groups
 * with a signal than hard ones, for this node and for its peers.
 */
const MARGIN = 1.5

/** Tokens that the model processes to train on a group. */
export function tokensIn({ conditioning, rollouts }: Group): number {
  return rollouts.reduce((sum, one) => sum + (one.conditioning ?? conditioning).length + one.tokens.length, 0)
}

export function createPromptMix(): PromptMix {
  const recent: { stratum: string; tokens: number }[] = []
  const counts = new Map<string, number>()
  let total = 0

  return {
    add(group) {
      const entry = { stratum: stratumOf(group), tokens: tokensIn(group) }
      recent.push(entry)
      counts.set(entry.stratum, (counts.get(entry.stratum) ?? 0) + 1)
      total += entry.tokens
      if (recent.length <= RECENT) return
      const oldest = recent.shift()!
      total -= oldest.tokens
      const left = counts.get(oldest.stratum)! - 1
      if (left > 0) counts.set(oldest.stratum, left)
      else counts.delete(oldest.stratum)
    },

    stratum(group) {
      const own = stratumOf(group)
      return counts.has(own) ? own : OTHER
    },

    most(stratum, count) {
      // Laplace's rule of succession: after only a few own prompts, much of the mix is still unknown.
      if (stratum === OTHER) return Math.floor((MARGIN * count) / (recent.length + 1))
      return Math.ceil((MARGIN * count * (counts.get(stratum) ?? 0)) / Math.max(1, recent.length))
    },

    get tokens() {
      return recent.length > 0 ? total / recent.length : undefined
    },
  }
}

function stratumOf({ prompt: { task, taskVersion, difficulty } }: Group): string {
  return `${task}@${taskVersion}/${difficulty}`
}
