// The built-in advantage estimators, in the order in which lists show them. The first is the default.

import type { Plugin } from '../../protocol/plugin/index.ts'
import aGrae from './a-grae.ts'
import asymre from './asymre.ts'
import canon from './canon.ts'
import drGrpo from './dr-grpo.ts'
import gdpo from './gdpo.ts'
import gpg from './gpg.ts'
import grpo from './grpo.ts'
import gtpo from './gtpo.ts'
import litePpo from './lite-ppo.ts'
import mcGrpo from './mc-grpo.ts'
import ngrpo from './ngrpo.ts'
import opmd from './opmd.ts'
import opo from './opo.ts'
import passAtK from './pass-at-k.ts'
import redWeight from './red-weight.ts'
import reinforcePlusPlus from './reinforce-plus-plus.ts'
import reinforcePlusPlusBaseline from './reinforce-plus-plus-baseline.ts'
import rloo from './rloo.ts'

export const ESTIMATORS: readonly Plugin[] = [
  grpo,
  drGrpo,
  rloo,
  litePpo,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  opo,
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
]
