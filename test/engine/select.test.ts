import { expect, test } from 'vitest'
import { createEngines } from '../../daemon/engine/select.ts'

test('a device that is asked for by name and not driven is refused, not replaced in silence', async () => {
  for (const device of ['webgpu', 'cuda', 'dml', 'coreml']) {
    await expect(createEngines({ kind: 'onnx', device, threads: 1 }, 1)).rejects.toMatchObject({
      code: 'E_ENGINE',
    })
  }
  for (const device of ['auto', 'cpu']) {
    const [engine] = await createEngines({ kind: 'onnx', device, threads: 1 }, 1)
    expect(engine!.info).toMatchObject({ kind: 'onnx', device: 'cpu' })
    await engine!.close()
  }
})
