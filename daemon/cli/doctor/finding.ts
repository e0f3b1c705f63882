// A finding of `waggle doctor`: ok, warn or fail, with a fact and a fix.

import type { Snapshot } from '../../../protocol/api/index.ts'
import type { Config } from '../../config/schema.ts'
import type { Context } from '../contract.ts'
import type { Here } from './here.ts'

export interface Finding {
  what: string
  level: 'ok' | 'warn' | 'fail'
  /** One line. */
  fact: string
  /** What to do, if anything. */
  fix?: string
}

/** Facts that several checks need, collected once. */
export interface Patient {
  context: Context
  /** Undefined if it is invalid, which the config check reports. */
  config: Config | undefined
  here: Here
  /** Undefined if no daemon runs here. */
  daemon: Snapshot | undefined
}

export type Check = (patient: Patient) => Finding[] | Promise<Finding[]>

export const ok = (what: string, fact: string): Finding => ({ what, level: 'ok', fact })
export const warn = (what: string, fact: string, fix: string): Finding => ({ what, level: 'warn', fact, fix })
export const fail = (what: string, fact: string, fix: string): Finding => ({ what, level: 'fail', fact, fix })
