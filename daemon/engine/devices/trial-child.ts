// The process that tries a device. Its arguments are the device's name, `measure` or `check`, the precision, and what the
// speed is measured for, as JSON. It sends one message to its parent.

import type { Device } from './device.ts'
import { type Purpose, tryDevice } from './trial.ts'

const [device, measure, precision, purpose] = process.argv.slice(2)
process.env.ORT_DISABLE_TELEMETRY ??= '1'
try {
  const report = await tryDevice(device as Device, {
    measure: measure === 'measure',
    precision: precision === 'float16' ? 'float16' : 'float32',
    ...(JSON.parse(purpose!) as Purpose),
    now: () => performance.now(),
  })
  process.send!({ report }, () => process.exit(0))
} catch (error) {
  process.send!({ trouble: String(error instanceof Error ? error.message : error) }, () => process.exit(1))
}
