// Which device, and why: from what the config wants and what trying each has found. Data in, data out.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Device } from './device.ts'

/** What came of a device. */
export interface Finding {
  device: Device
  /** Why it will not do; absent where it will. */
  trouble?: string
  /** How many times as fast as the CPU it trained. */
  speed?: number
}

export interface Choice {
  device: Device
  reason: string
}

export function choose(wanted: Device | 'auto', findings: readonly Finding[]): Choice {
  if (wanted === 'cpu') return { device: 'cpu', reason: 'engine.device asks for it' }
  if (wanted !== 'auto') {
    const finding = findings.find(({ device }) => device === wanted)
    if (finding && finding.trouble === undefined)
      return { device: wanted, reason: `engine.device asks for it, and it agrees with the CPU` }
    // A device that was asked for by name and cannot be had is an error: silence would cost days on the wrong one.
    throw new WaggleError(
      'E_ENGINE',
      `engine.device is "${wanted}", which does not work here: ${finding?.trouble ?? 'it was not tried'}`,
      {
        hint:
          wanted === 'cuda'
            ? 'Run `waggle device install cuda`, look at it with `waggle device`, or set engine.device to "auto".'
            : 'Look at it with `waggle device`, or set engine.device to "auto" or "cpu".',
      },
    )
  }
  const best = findings
    .filter(({ trouble, speed = 0 }) => trouble === undefined && speed > 1)
    .sort((a, b) => b.speed! - a.speed!)[0]
  const others = findings.filter((finding) => finding !== best).map(told)
  if (best)
    return {
      device: best.device,
      reason: [`agrees with the CPU and trains ${best.speed!.toFixed(1)} times as fast`, ...others].join(
        '; ',
      ),
    }
  return { device: 'cpu', reason: others.length > 0 ? others.join('; ') : 'nothing else is driven here' }
}

/** A finding in words. */
export function told({ device, trouble, speed }: Finding): string {
  if (trouble !== undefined) return `${device}: ${trouble}`
  if (speed === undefined) return `${device}: agrees with the CPU`
  return speed > 1
    ? `${device}: ${speed.toFixed(1)} times as fast as the CPU`
    : `${device}: slower than the CPU (${speed.toPrecision(2)} times its speed)`
}
