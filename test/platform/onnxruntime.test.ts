// Which package ONNX Runtime is loaded from: the small one of this platform, or the one of all platforms.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findOnnxruntime } from '../../daemon/platform/onnxruntime.ts'

const SMALL = '@scope/onnxruntime-linux-x64'
let root: string
beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'waggle-runtime-')), 'node_modules/waggle')
  await mkdir(root, { recursive: true })
  await describe({ [SMALL]: '1.0.0', '@scope/onnxruntime-darwin-arm64': '1.0.0' })
})
afterEach(() => rm(join(root, '../..'), { recursive: true }))

const describe = (optionalDependencies: Record<string, string>) =>
  writeFile(join(root, 'package.json'), JSON.stringify({ name: 'waggle', optionalDependencies }))
async function install(at: string): Promise<string> {
  const folder = join(root, '..', at)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{}')
  return folder
}
const found = (platform = 'linux', arch = 'x64') => findOnnxruntime({ root, platform, arch })

test('the package of this platform comes before the one of all', async () => {
  const folder = await install(SMALL)
  await install('onnxruntime-node')
  expect(found()).toEqual({ name: SMALL, folder })
})

test('it may lie inside the package that asks, as in a file that brings all', async () => {
  const folder = await install(`waggle/node_modules/${SMALL}`)
  expect(found()).toEqual({ name: SMALL, folder })
})

test('the one of all platforms is taken where the small one is missing or not named', async () => {
  const folder = await install('onnxruntime-node')
  expect(found()).toEqual({ name: 'onnxruntime-node', folder })
  await install(SMALL)
  await describe({})
  expect(found()).toEqual({ name: 'onnxruntime-node', folder })
})

test('the package of another platform is not taken, and without any it is said what to install', async () => {
  await install(SMALL)
  expect(() => found('darwin', 'arm64')).toThrow(
    expect.objectContaining({
      code: 'E_ENGINE',
      message: expect.stringContaining('darwin-arm64 is not installed'),
      hint: expect.stringContaining('npm install @scope/onnxruntime-darwin-arm64'),
    }),
  )
})
