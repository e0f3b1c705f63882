// Checks the device: the one that the running daemon uses, or the one that a node would choose, and why.

import { dirname } from 'node:path'
import type { WaggleError } from '../../../protocol/errors.ts'
import { decide } from '../../engine/devices/decide.ts'
import { thisMachine } from '../../engine/devices/machine.ts'
import { probe } from '../../engine/devices/probe.ts'
import { inspectModel } from '../model/inspect.ts'
import { type Check, fail, ok } from './finding.ts'

export const device: Check = async ({ context, config, daemon, here }) => {
  if (daemon?.engine) {
    const { device, reason } = daemon.engine
    return [ok('device', `${device}${reason ? ` (${reason})` : ''}`)]
  }
  // TensorFlow.js selects its own backend.
  if (config?.engine.kind !== 'onnx') return []
  // Problems with the model are reported by another check.
  const base = dirname(context.paths.config)
  const model = await inspectModel(context, { reference: config.model.path, base }).catch(() => undefined)
  // As a node divides them between its two engines.
  const threads = Math.max(1, Math.floor((config.engine.threads || here.cores) / 2))
  try {
    const choice = await decide(
      {
        ...{ wanted: config.engine.device, precision: config.engine.precision },
        ...{ machine: thisMachine(), purpose: { threads, ...(model && { like: model.spec }) } },
      },
      { probe },
    )
    return [ok('device', `${choice.device} (${choice.reason})`)]
  } catch (error) {
    const { message, hint } = error as WaggleError
    return [fail('device', message, hint ?? 'Set engine.device to "auto".')]
  }
}
