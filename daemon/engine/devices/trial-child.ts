// The process in which a device is tried: its name and `measure` as arguments, one message to the parent.

import type { Device } from './device.ts'
import { tryDevice } from './trial.ts'

const [device, measure] = process.argv.slice(2)
process.env.ORT_DISABLE_TELEMETRY ??= '1'
try {
  const report = await tryDevice(device as Device, {
    measure: measure === 'measure',
    now: () => performance.now(),
  })
  process.send!({ report }, () => process.exit(0))
} catch (error) {
  process.send!({ trouble: String(error instanceof Error ? error.message : error) }, () => process.exit(1))
}
