// The facts about this machine that the choice of a device depends on.

import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Machine } from './device.ts'

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    arch: process.arch,
    env: process.env,
    has(path) {
      try {
        return readdirSync(dirname(path)).some((name) => name.startsWith(basename(path)))
      } catch {
        return false
      }
    },
  }
}
