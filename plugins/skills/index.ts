// The built-in skill libraries. All are off unless the config names them.

import type { Plugin } from '../../protocol/plugin/index.ts'
import arise from './arise/arise.ts'
import sageChain from './sage/sage-chain.ts'
import slea from './slea/slea.ts'
import trainingFreeGrpo from './training-free-grpo/training-free-grpo.ts'

export const SKILLS: readonly Plugin[] = [sageChain, arise, slea, trainingFreeGrpo]
