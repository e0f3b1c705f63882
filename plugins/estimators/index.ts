// The built-in advantage estimators, in display order. The first is the default.

import type { Plugin } from '../../protocol/plugin/index.ts'
import aGrae from './a-grae.ts'
import asymre from './asymre.ts'
import copo from './batch/copo.ts'
import litePpo from './batch/lite-ppo.ts'
import reinforcePlusPlus from './batch/reinforce-plus-plus.ts'
import reinforcePlusPlusBaseline from './batch/reinforce-plus-plus-baseline.ts'
import canon from './canon.ts'
import gae from './critic/gae.ts'
import vTrace from './critic/v-trace.ts'
import drGrpo from './dr-grpo.ts'
import g2rpoLike from './g2rpo-like.ts'
import gdpo from './gdpo.ts'
import gpg from './gpg.ts'
import grpo from './grpo.ts'
import spo from './history/spo.ts'
import v05Like from './history/v05-like.ts'
import mapo from './mapo.ts'
import mcGrpo from './mc-grpo.ts'
import ngrpo from './ngrpo.ts'
import none from './none.ts'
import opmd from './opmd.ts'
import opo from './opo.ts'
import passAtK from './pass-at-k.ts'
import psrNsr from './psr-nsr.ts'
import redWeight from './red-weight.ts'
import rloo from './rloo.ts'
import seedGrpoLike from './seed-grpo-like.ts'
import gtpo from './tokens/gtpo.ts'
import otb from './tokens/otb.ts'
import remax from './tokens/remax.ts'
import gigpo from './turns/gigpo.ts'
import hgpo from './turns/hgpo.ts'
import saltLike from './turns/salt-like.ts'
import trloo from './turns/trloo.ts'

export const ESTIMATORS: readonly Plugin[] = [
  grpo,
  drGrpo,
  rloo,
  litePpo,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  opo,
  otb,
  gpg,
  passAtK,
  ngrpo,
  psrNsr,
  mcGrpo,
  gdpo,
  aGrae,
  canon,
  gtpo,
  asymre,
  opmd,
  redWeight,
  mapo,
  copo,
  remax,
  spo,
  gae,
  vTrace,
  trloo,
  gigpo,
  hgpo,
  seedGrpoLike,
  g2rpoLike,
  saltLike,
  v05Like,
  none,
]
