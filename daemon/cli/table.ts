// All commands, in the order in which `waggle help` shows them.

import type { Command } from './contract.ts'
import { RUN } from './table/run.ts'
import { SET_UP } from './table/set-up.ts'
import { STEER } from './table/steer.ts'
import { USE_MODEL } from './table/use-model.ts'
import { WATCH } from './table/watch.ts'

export const COMMANDS: readonly Command[] = [...RUN, ...WATCH, ...STEER, ...USE_MODEL, ...SET_UP]
