// The built-in control plugins: they decide how many rollouts a prompt gets and when generation stops.

import type { Plugin } from '../../protocol/plugin/index.ts'
import april from './april.ts'
import scopeLike from './scope-like.ts'
import spoChain from './spo-chain.ts'

export const CONTROL: readonly Plugin[] = [april, spoChain, scopeLike]
