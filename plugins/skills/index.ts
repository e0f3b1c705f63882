// The built-in skill libraries. None is on unless the config names it.

import type { Plugin } from '../../protocol/plugin/index.ts'
import arise from './arise.ts'
import sageChain from './sage-chain.ts'
import slea from './slea.ts'
import trainingFreeGrpo from './training-free-grpo.ts'

export const SKILLS: readonly Plugin[] = [sageChain, arise, slea, trainingFreeGrpo]
