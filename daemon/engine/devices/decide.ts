// Decides on a device: rules out those that cannot be present, tries the others one after another, then chooses.

import type { Precision } from '../onnx/loss-scale.ts'
import { type Choice, choose, type Finding } from './choice.ts'
import { type Device, drivable, type Machine, ruledOut } from './device.ts'
import type { ProbeOptions } from './probe.ts'
import type { Purpose } from './trial.ts'

interface DecideOptions {
  wanted: Device | 'auto'
  machine: Machine
  purpose: Purpose
  /** Precision of matrix products in training. 'auto' means float16 where that is faster. */
  precision?: Precision | 'auto'
  /** How long a trial may take. The first run compiles every shader. `auto` does not use a device that takes longer. */
  timeoutMs?: { auto: number; named: number }
}

export async function findAll(
  {
    wanted,
    machine,
    purpose,
    precision = 'float32',
    timeoutMs = { auto: 60_000, named: 180_000 },
  }: DecideOptions,
  { probe }: { probe: (options: ProbeOptions) => Promise<Finding> },
): Promise<Finding[]> {
  if (wanted === 'cpu') return []
  const findings: Finding[] = []
  for (const device of wanted === 'auto' ? drivable(machine) : [wanted]) {
    const isAuto = wanted === 'auto'
    const trouble = ruledOut(device, machine, !isAuto)
    if (trouble !== undefined) {
      findings.push({ device, trouble })
      continue
    }
    const options = {
      ...{ device, purpose },
      measure: isAuto || precision === 'auto',
      timeoutMs: isAuto ? timeoutMs.auto : timeoutMs.named,
    }
    const finding = await probe(options)
    findings.push(finding)
    if (precision === 'float32' || finding.trouble !== undefined) continue
    const { device: _, ...half } = await probe({ ...options, precision: 'float16' })
    finding.half = half
  }
  return findings
}

export async function decide(
  options: DecideOptions,
  parts: { probe: (options: ProbeOptions) => Promise<Finding> },
): Promise<Choice> {
  return choose(options.wanted, await findAll(options, parts), options.precision)
}
