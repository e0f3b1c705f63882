// What doctor says about one thing: fine, worth a look, or broken, with the fact and the fix.

import type { Snapshot } from '../../../protocol/api/index.ts'
import type { Config } from '../../config/schema.ts'
import type { Context } from '../context.ts'
import type { Here } from './here.ts'

export interface Finding {
  what: string
  level: 'ok' | 'warn' | 'fail'
  /** One line. */
  fact: string
  /** What to do about it, where there is something to do. */
  fix?: string
}

/** What several checks need, looked up once. */
export interface Patient {
  context: Context
  /** Undefined where it cannot be read, which a check of its own reports. */
  config: Config | undefined
  here: Here
  /** Undefined if no daemon runs here. */
  daemon: Snapshot | undefined
}

export type Check = (patient: Patient) => Finding[] | Promise<Finding[]>

export const ok = (what: string, fact: string): Finding => ({ what, level: 'ok', fact })
export const warn = (what: string, fact: string, fix: string): Finding => ({ what, level: 'warn', fact, fix })
export const fail = (what: string, fact: string, fix: string): Finding => ({ what, level: 'fail', fact, fix })
