// The built-in advantage estimators, in the order in which lists show them. The first is the default.

import type { Plugin } from '../../protocol/plugin/index.ts'
import aGrae from './a-grae.ts'
import asymre from './asymre.ts'
import canon from './canon.ts'
import copo from './copo.ts'
import drGrpo from './dr-grpo.ts'
import g2rpoLike from './g2rpo-like.ts'
import gae from './gae.ts'
import gdpo from './gdpo.ts'
import gigpo from './gigpo.ts'
import gpg from './gpg.ts'
import grpo from './grpo.ts'
import gtpo from './gtpo.ts'
import hgpo from './hgpo.ts'
import litePpo from './lite-ppo.ts'
import mapo from './mapo.ts'
import mcGrpo from './mc-grpo.ts'
import ngrpo from './ngrpo.ts'
import none from './none.ts'
import opmd from './opmd.ts'
import opo from './opo.ts'
import otb from './otb.ts'
import passAtK from './pass-at-k.ts'
import redWeight from './red-weight.ts'
import reinforcePlusPlus from './reinforce-plus-plus.ts'
import reinforcePlusPlusBaseline from './reinforce-plus-plus-baseline.ts'
import remax from './remax.ts'
import rloo from './rloo.ts'
import saltLike from './salt-like.ts'
import seedGrpoLike from './seed-grpo-like.ts'
import spo from './spo.ts'
import trloo from './trloo.ts'
import vTrace from './v-trace.ts'
import v05Like from './v05-like.ts'

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
