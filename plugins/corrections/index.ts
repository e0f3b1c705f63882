// The built-in losses and off-policy corrections, in display order. A configuration has exactly one loss. The other
// plugins weight, mask or drop tokens, and can be combined freely.

import type { Plugin } from '../../protocol/plugin/index.ts'
import clipCov from './clip-cov.ts'
import foreign from './groups/foreign.ts'
import overlong from './groups/overlong.ts'
import staleness from './groups/staleness.ts'
import zeroSignal from './groups/zero-signal.ts'
import cispo from './losses/cispo.ts'
import clip from './losses/clip.ts'
import gmpo from './losses/gmpo.ts'
import gspo from './losses/gspo.ts'
import primeRl from './losses/prime-rl.ts'
import dppo from './losses/probability/dppo.ts'
import ipo from './losses/probability/ipo.ts'
import rec from './losses/rec.ts'
import reinforce from './losses/reinforce.ts'
import softAdaptive from './losses/soft-adaptive.ts'
import topr from './losses/topr.ts'
import vespo from './losses/vespo.ts'
import m2po from './m2po.ts'
import opsm from './opsm.ts'
import kl from './penalties/kl.ts'
import klCov from './penalties/kl-cov.ts'
import klLimit from './penalties/kl-limit.ts'
import llds from './penalties/llds.ts'
import successNll from './penalties/success-nll.ts'
import rejection from './rejection.ts'
import opsdLike from './teachers/opsd-like.ts'
import teachers from './teachers/teachers.ts'
import tis from './tis.ts'

export const LOSSES: readonly Plugin[] = [
  clip,
  gspo,
  gmpo,
  cispo,
  softAdaptive,
  reinforce,
  rec,
  topr,
  vespo,
  dppo,
  ipo,
  primeRl,
]

export const CORRECTIONS: readonly Plugin[] = [
  ...LOSSES,
  tis,
  rejection,
  m2po,
  kl,
  klLimit,
  clipCov,
  klCov,
  opsm,
  llds,
  successNll,
  teachers,
  opsdLike,
  foreign,
  staleness,
  zeroSignal,
  overlong,
]
