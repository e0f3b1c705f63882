// The built-in control plugins: they decide how many rollouts a prompt gets and when generation stops.

import type { Plugin } from '../../protocol/plugin/index.ts'
import april from './april.ts'
import arrolLike from './arrol-like.ts'
import spoChain from './branches/spo-chain.ts'
import treeRlLike from './branches/tree-rl-like.ts'
import scopeLike from './scope-like.ts'

export const CONTROL: readonly Plugin[] = [april, spoChain, treeRlLike, arrolLike, scopeLike]
