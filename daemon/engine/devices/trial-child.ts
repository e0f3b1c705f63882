// The process that tries a device. Its arguments are the device's name, `measure` or `check`, and the precision. It
// sends one message to its parent.

import type { Device } from './device.ts'
import { tryDevice } from './trial.ts'

const [device, measure, precision] = process.argv.slice(2)
process.env.ORT_DISABLE_TELEMETRY ??= '1'
try {
  const report = await tryDevice(device as Device, {
    measure: measure === 'measure',
    precision: precision === 'float16' ? 'float16' : 'float32',
    now: () => performance.now(),
  })
  process.send!({ report }, () => process.exit(0))
} catch (error) {
  process.send!({ trouble: String(error instanceof Error ? error.message : error) }, () => process.exit(1))
}
