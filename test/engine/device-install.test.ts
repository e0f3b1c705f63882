// The CUDA provider's installation, from a feed on this machine and from files.

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { CUDA_FILES, type InstallOptions, installCuda } from '../../daemon/engine/devices/install/cuda.ts'

const NATIVE = 'runtimes/linux-x64/native/'
const contents = new Map(
  CUDA_FILES.map((name, i) => [`${NATIVE}${name}`, Buffer.alloc(50_000 + i, `library ${i} `)]),
)
const read = (from: string) => contents.get(`${NATIVE}${from}`)!

/** A ZIP archive; every second entry is stored, the others deflated. */
function archive(files: ReadonlyMap<string, Buffer>, checksum: (data: Buffer) => number = crc32): Buffer {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []]
  let at = 0
  ;[...files].forEach(([name, data], i) => {
    const packed = i % 2 === 0 ? deflateRawSync(data) : data
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(i % 2 === 0 ? 8 : 0, 4)
    common.writeUInt32LE(checksum(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(at, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, tail, Buffer.from(name))
    parts.push(local)
    at += local.length
  })
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt32LE(index.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, index, end])
}

const sha512 = (data: Buffer) => createHash('sha512').update(data).digest('base64')
const whole = archive(contents)
/** What the feed gives out, and what it says the digest is. */
let served = whole
let announced = sha512(whole)
let server: Server
let index: string
let folder: string
let binding: string

beforeAll(async () => {
  server = createServer((request, answer) => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const id = 'microsoft.ml.onnxruntime.gpu.linux'
    const answers: Record<string, object> = {
      '/index.json': {
        resources: [
          { '@type': 'PackageBaseAddress/3.0.0', '@id': `${base}/flat` },
          { '@type': 'RegistrationsBaseUrl/3.6.0', '@id': `${base}/registration/` },
        ],
      },
      [`/registration/${id}/9.8.7.json`]: { catalogEntry: `${base}/entry.json` },
      '/entry.json': { packageHash: announced, packageHashAlgorithm: 'SHA512' },
    }
    if (request.url === `/flat/${id}/9.8.7/${id}.9.8.7.nupkg`) answer.end(served)
    else if (answers[request.url!]) answer.end(JSON.stringify(answers[request.url!]))
    else answer.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  index = `http://127.0.0.1:${(server.address() as AddressInfo).port}/index.json`
})
afterAll(() => server.close())

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waggle-binding-'))
  binding = join(folder, 'onnxruntime-node')
  await mkdir(directory(), { recursive: true })
  await writeFile(join(binding, 'package.json'), '{"version":"9.8.7"}')
  served = whole
  announced = sha512(whole)
  return () => rm(folder, { recursive: true })
})
const directory = () => join(binding, 'bin', 'napi-v6', 'linux', 'x64')
const install = (options: Partial<InstallOptions> = {}) =>
  installCuda({ binding, platform: 'linux', arch: 'x64', from: { index }, ...options }, { fetch })

test("the binding's own version is fetched from a feed, checked against its digest and put beside the binding", async () => {
  const done = await install()
  expect(done).toMatchObject({ version: '9.8.7', verified: 'sha512', bytes: 100_001 })
  for (const name of CUDA_FILES)
    expect((await readFile(join(directory(), name))).equals(read(name)), name).toBe(true)
  expect((await readdir(directory())).sort()).toEqual([...CUDA_FILES].sort())
})

test('a package that is not what the feed announced is refused, and nothing is left behind', async () => {
  served = Buffer.concat([whole, Buffer.from('x')])
  await expect(install()).rejects.toThrow(/sha512 digest differs/)
  served = whole.subarray(0, 1000)
  announced = sha512(served)
  await expect(install()).rejects.toThrow(/not a usable package/)
  served = archive(contents, () => 12345)
  announced = sha512(served)
  await expect(install()).rejects.toThrow(/checksum is wrong/)
  served = archive(new Map([[`${NATIVE}${CUDA_FILES[0]}`, read(CUDA_FILES[0])]]))
  announced = sha512(served)
  await expect(install()).rejects.toThrow(/has no .*providers_cuda/)
  expect(await readdir(directory())).toEqual([])
})

test('a package on disk does, and is compared with a digest if one is given', async () => {
  const file = join(folder, 'package.nupkg')
  await writeFile(file, whole)
  expect((await install({ from: { file } })).verified).toBeUndefined()
  const hex = createHash('sha256').update(whole).digest('hex')
  expect((await install({ from: { file }, digest: `sha256:${hex}` })).verified).toBe('sha256')
  await expect(install({ from: { file }, digest: `sha256:${hex.replace(/./g, '0')}` })).rejects.toThrow(
    /sha256 digest differs/,
  )
  await expect(install({ from: { file }, digest: 'md5:12' })).rejects.toMatchObject({ code: 'E_USAGE' })
})

const wheel = (version: string) =>
  archive(
    new Map([
      ...CUDA_FILES.map((name) => [`onnxruntime/capi/${name}`, read(name)] as const),
      [`onnxruntime_gpu-${version}.dist-info/METADATA`, Buffer.from('')],
    ]),
  )

test("the Python package index's wheel of the same version does, too", async () => {
  const file = join(folder, 'onnxruntime_gpu.whl')
  await writeFile(file, wheel('9.8.7'))
  expect(await install({ from: { file } })).toMatchObject({ version: '9.8.7', bytes: 100_001 })
  await writeFile(file, wheel('9.8.6'))
  await expect(install({ from: { file } })).rejects.toMatchObject({
    message: expect.stringMatching(/ONNX Runtime 9\.8\.6, and the binding of 9\.8\.7/),
    hint: expect.stringMatching(/onnxruntime-gpu==9\.8\.7/),
  })
})

test('the version of CUDA that is needed is read from the provider', async () => {
  const file = join(folder, 'package.nupkg')
  const library = Buffer.from('\x7fELF libcublas.so.13\0libcudart.so.13\0')
  await writeFile(file, archive(new Map([...contents, [`${NATIVE}${CUDA_FILES[1]}`, library]])))
  expect((await install({ from: { file } })).cuda).toBe(13)
  await writeFile(file, whole)
  expect((await install({ from: { file } })).cuda).toBeUndefined()
})

test('no feed, a feed without the version, another platform: each says what to do', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  await expect(install({ from: { index: `http://127.0.0.1:${port}/index.json` } })).rejects.toMatchObject({
    message: expect.stringMatching(/ECONNREFUSED/),
    hint: expect.stringMatching(/--from FILE/),
  })
  await writeFile(join(binding, 'package.json'), '{"version":"1.2.3"}')
  await expect(install()).rejects.toThrow(/status 404/)
  await expect(install({ platform: 'darwin', arch: 'arm64' })).rejects.toMatchObject({
    message: expect.stringMatching(/only on linux-x64, not on darwin-arm64/),
    hint: expect.stringMatching(/webgpu/),
  })
})
