// Chooses a device from the config and the trial of each device, and says why. Data in, data out.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Precision } from '../onnx/loss-scale.ts'
import type { Device } from './device.ts'

/** The result of trying a device. */
export interface Finding {
  device: Device
  /** Why the device cannot be used; absent if it can. */
  trouble?: string
  /** Training speed as a multiple of the CPU's. */
  speed?: number
  /** The trial with float16 products, if it was made. Its speed, too, is a multiple of the CPU's in float32. */
  half?: Omit<Finding, 'device' | 'half'>
}

export interface Choice {
  device: Device
  reason: string
  precision: Precision
}

export function choose(
  wanted: Device | 'auto',
  findings: readonly Finding[],
  precision: Precision | 'auto' = 'float32',
): Choice {
  const { device, reason } = chooseDevice(wanted, findings)
  if (precision === 'float32') return { device, reason, precision }
  const chosen = findings.find((finding) => finding.device === device)
  const [taken, why] = choosePrecision(precision, chosen)
  return { device, reason: `${reason}; ${why}`, precision: taken }
}

/** Without float16, training falls back to float32; that is not an error. */
function choosePrecision(
  wanted: 'float16' | 'auto',
  chosen: Pick<Finding, 'speed' | 'half'> | undefined,
): [Precision, string] {
  const half = chosen?.half
  if (!half) return ['float32', 'float32, since the CPU has no fast float16 arithmetic']
  if (half.trouble !== undefined) return ['float32', `float32, since float16 does not work: ${half.trouble}`]
  if (wanted === 'float16') return ['float16', 'float16 as engine.precision asks for']
  const gain = (half.speed ?? 0) / (chosen?.speed ?? Number.POSITIVE_INFINITY)
  return gain > 1
    ? ['float16', `float16, which trains ${gain.toFixed(1)} times as fast as float32`]
    : ['float32', `float32, since float16 has ${gain.toPrecision(2)} times its speed`]
}

function chooseDevice(wanted: Device | 'auto', findings: readonly Finding[]): Omit<Choice, 'precision'> {
  if (wanted === 'cpu') return { device: 'cpu', reason: 'engine.device asks for it' }
  if (wanted !== 'auto') {
    const finding = findings.find(({ device }) => device === wanted)
    if (finding && finding.trouble === undefined)
      return { device: wanted, reason: `engine.device asks for it, and it agrees with the CPU` }
    // A device that the config names must work: falling back silently could cost days.
    throw new WaggleError(
      'E_ENGINE',
      `engine.device is "${wanted}", which does not work here: ${finding?.trouble ?? 'it was not tried'}`,
      {
        hint:
          wanted === 'cuda'
            ? 'Run `waggle device install cuda`, check it with `waggle device`, or set engine.device to "auto".'
            : 'Check it with `waggle device`, or set engine.device to "auto" or "cpu".',
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
  return {
    device: 'cpu',
    reason: others.length > 0 ? others.join('; ') : 'no other device is supported here',
  }
}

/** A finding in words. */
export function told(finding: Finding): string {
  const { half } = finding
  return half ? `${toldOf(finding)}; in float16, ${toldOf({ ...finding, ...half }, '')}` : toldOf(finding)
}

function toldOf({ device, trouble, speed }: Finding, prefix = `${device}: `): string {
  if (trouble !== undefined) return `${prefix}${trouble}`
  if (speed === undefined) return `${prefix}agrees with the CPU`
  return speed > 1
    ? `${prefix}${speed.toFixed(1)} times as fast as the CPU`
    : `${prefix}slower than the CPU (${speed.toPrecision(2)} times its speed)`
}
