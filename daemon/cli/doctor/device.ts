// Checks the device: the one that the running daemon uses, or the one that a node would choose, and why.

import type { WaggleError } from '../../../protocol/errors.ts'
import { decide } from '../../engine/devices/decide.ts'
import { thisMachine } from '../../engine/devices/machine.ts'
import { probe } from '../../engine/devices/probe.ts'
import { type Check, fail, ok } from './finding.ts'

export const device: Check = async ({ config, daemon, here }) => {
  if (daemon?.engine) {
    const { device, reason } = daemon.engine
    return [ok('device', `${device}${reason ? ` (${reason})` : ''}`)]
  }
  // TensorFlow.js selects its own backend.
  if (config?.engine.kind !== 'onnx') return []
  try {
    const choice = await decide(
      {
        ...{ wanted: config.engine.device, precision: config.engine.precision },
        ...{ machine: thisMachine(), purpose: { threads: config.engine.threads || here.cores } },
      },
      { probe },
    )
    return [ok('device', `${choice.device} (${choice.reason})`)]
  } catch (error) {
    const { message, hint } = error as WaggleError
    return [fail('device', message, hint ?? 'Set engine.device to "auto".')]
  }
}
