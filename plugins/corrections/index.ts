// The built-in losses and off-policy corrections, in the order in which lists show them. `LOSSES` give the loss, of
// which a configuration has exactly one; the others weigh, mask or drop, and any number of them go together.

import type { Plugin } from '../../protocol/plugin/index.ts'
import clip from './clip.ts'
import staleness from './staleness.ts'
import tis from './tis.ts'

export const LOSSES: readonly Plugin[] = [clip]

export const CORRECTIONS: readonly Plugin[] = [...LOSSES, tis, staleness]
