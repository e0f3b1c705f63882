// The built-in plugins that decide how many rollouts a prompt gets, and when writing them ends.

import type { Plugin } from '../../protocol/plugin/index.ts'
import april from './april.ts'
import dars from './dars.ts'
import xrpo from './xrpo.ts'

export const CONTROL: readonly Plugin[] = [april, dars, xrpo]
