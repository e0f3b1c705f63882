// Tries a device in a separate process, so that a driver that crashes or hangs costs this process nothing but time.

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { safeText } from '../../../protocol/text.ts'
import type { Precision } from '../onnx/loss-scale.ts'
import type { Finding } from './choice.ts'
import type { Device } from './device.ts'
import type { Purpose } from './trial.ts'
import { agrees, type TrialReport } from './trial-report.ts'

export interface ProbeOptions {
  device: Device
  /** Whether to measure the speed as well, and what for. */
  measure: boolean
  purpose: Purpose
  /** Precision of matrix products on the device; float32 if left out. */
  precision?: Precision
  timeoutMs: number
  /** For tests: the module to run instead of the trial, and its environment. */
  child?: URL
  env?: NodeJS.ProcessEnv
}

const LONGEST_REASON = 200

export function probe({
  device,
  measure,
  purpose,
  precision = 'float32',
  timeoutMs,
  child,
  env,
}: ProbeOptions): Promise<Finding> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const module = child ?? new URL(`./trial-child.${extension}`, import.meta.url)
  return new Promise((resolve) => {
    const asked = [device, measure ? 'measure' : 'check', precision, JSON.stringify(purpose)]
    const trial = fork(fileURLToPath(module), asked, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      ...(env ? { env } : {}),
    })
    let said = ''
    const finish = (finding: Finding): void => {
      clearTimeout(timer)
      trial.kill('SIGKILL')
      resolve(finding)
    }
    const timer = setTimeout(
      () => finish({ device, trouble: `no answer within ${Math.round(timeoutMs / 1000)} s` }),
      timeoutMs,
    )
    trial.stderr!.on('data', (piece: Buffer) => {
      said = (said + piece.toString()).slice(-4000)
    })
    trial.once('error', (error) => finish({ device, trouble: `cannot be tried: ${error.message}` }))
    trial.once('message', ({ report, trouble }: { report?: TrialReport; trouble?: string }) => {
      if (!report) return finish({ device, trouble: reasonOf(trouble ?? 'it gave no report') })
      if (!agrees(report, precision))
        return finish({
          device,
          trouble: `its results differ from the CPU's (a product by ${report.product.toPrecision(2)}, training by ${report.training.toPrecision(2)})`,
        })
      finish({ device, ...(report.speed === undefined ? {} : { speed: report.speed }) })
    })
    // Not `exit`, which may fire before the report has arrived.
    trial.once('close', (code, signal) => {
      const last = said.trim().split('\n').at(-1) ?? ''
      finish({
        device,
        trouble: reasonOf(`the trial ended with ${signal ?? `status ${code}`}${last ? `: ${last}` : ''}`),
      })
    })
  })
}

/** The text of a native error without its source path and function. */
function reasonOf(text: string): string {
  const line = text.split('\n')[0] ?? ''
  if (/requires f16 but the device does not support/.test(line))
    return 'the device has no float16 (the WebGPU feature shader-f16)'
  return safeText(/(?:was false\. |Error: )([^\n]+)$/.exec(line)?.[1] ?? line, {
    limit: LONGEST_REASON,
    line: true,
  })
}
