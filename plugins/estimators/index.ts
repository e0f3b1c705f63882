// The built-in advantage estimators, in display order. The first is the default.
//
// normalised/ divides by the spread of a group's rewards, baselines/ only subtracts a baseline, and shaped/ reweights
// one of these. batch/ compares across the groups of a batch, history/ with earlier rewards, and critic/ with a value
// head. tokens/ and turns/ assign different advantages to the tokens or turns of one rollout.

import type { Plugin } from '../../protocol/plugin/index.ts'
import drGrpo from './baselines/dr-grpo.ts'
import gpg from './baselines/gpg.ts'
import opmd from './baselines/opmd.ts'
import opo from './baselines/opo.ts'
import rloo from './baselines/rloo.ts'
import copo from './batch/copo.ts'
import litePpo from './batch/lite-ppo.ts'
import reinforcePlusPlus from './batch/reinforce-plus-plus.ts'
import reinforcePlusPlusBaseline from './batch/reinforce-plus-plus-baseline.ts'
import gae from './critic/gae.ts'
import vTrace from './critic/v-trace.ts'
import spo from './history/spo.ts'
import none from './none.ts'
import gdpo from './normalised/gdpo.ts'
import grpo from './normalised/grpo.ts'
import mcGrpo from './normalised/mc-grpo.ts'
import psrNsr from './psr-nsr.ts'
import aGrae from './shaped/a-grae.ts'
import canon from './shaped/canon.ts'
import disco from './shaped/disco.ts'
import mapo from './shaped/mapo.ts'
import passAtK from './shaped/pass-at-k.ts'
import redWeight from './shaped/red-weight.ts'
import gtpo from './tokens/gtpo.ts'
import otb from './tokens/otb.ts'
import remax from './tokens/remax.ts'
import gigpo from './turns/gigpo.ts'
import hgpo from './turns/hgpo.ts'
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
  psrNsr,
  mcGrpo,
  gdpo,
  aGrae,
  canon,
  gtpo,
  opmd,
  redWeight,
  mapo,
  copo,
  disco,
  remax,
  spo,
  gae,
  vTrace,
  trloo,
  gigpo,
  hgpo,
  none,
]
