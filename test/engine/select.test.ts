import { expect, test } from 'vitest'
import { drivable } from '../../daemon/engine/devices/device.ts'
import { createEngines } from '../../daemon/engine/select.ts'

test('a device that is asked for by name and cannot be had is refused, not replaced in silence', async () => {
  const absent = ['cuda', 'dml', 'coreml'].filter(
    (device) => !(drivable(process) as string[]).includes(device),
  )
  for (const device of [...absent, 'abacus']) {
    await expect(createEngines({ kind: 'onnx', device, threads: 1 }, 1)).rejects.toMatchObject({
      code: 'E_ENGINE',
    })
  }
  await expect(createEngines({ kind: 'tfjs', device: 'webgpu', threads: 1 }, 1)).rejects.toMatchObject({
    code: 'E_ENGINE',
  })
})

test('the CPU that is asked for is the CPU', async () => {
  const [engine] = await createEngines({ kind: 'onnx', device: 'cpu', threads: 1 }, 1)
  expect(engine!.info).toMatchObject({ kind: 'onnx', device: 'cpu', reason: expect.stringMatching(/asks/) })
  await engine!.close()
})
