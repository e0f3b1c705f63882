// The built-in losses and off-policy corrections, in the order in which lists show them. `LOSSES` give the loss, of
// which a configuration has exactly one; the others weigh, mask or drop, and any number of them go together.

import type { Plugin } from '../../protocol/plugin/index.ts'
import cispo from './cispo.ts'
import clip from './clip.ts'
import clipCov from './clip-cov.ts'
import dppo from './dppo.ts'
import foreign from './foreign.ts'
import gmpo from './gmpo.ts'
import gspo from './gspo.ts'
import kl from './kl.ts'
import klCov from './kl-cov.ts'
import m2po from './m2po.ts'
import mis from './mis.ts'
import opsm from './opsm.ts'
import overlong from './overlong.ts'
import rec from './rec.ts'
import reinforce from './reinforce.ts'
import softAdaptive from './soft-adaptive.ts'
import sppo from './sppo.ts'
import staleness from './staleness.ts'
import tis from './tis.ts'
import topr from './topr.ts'
import vespo from './vespo.ts'
import zeroSignal from './zero-signal.ts'

export const LOSSES: readonly Plugin[] = [
  clip,
  gspo,
  gmpo,
  cispo,
  softAdaptive,
  reinforce,
  rec,
  topr,
  sppo,
  vespo,
  dppo,
]

export const CORRECTIONS: readonly Plugin[] = [
  ...LOSSES,
  tis,
  mis,
  m2po,
  kl,
  clipCov,
  klCov,
  opsm,
  foreign,
  staleness,
  zeroSignal,
  overlong,
]
