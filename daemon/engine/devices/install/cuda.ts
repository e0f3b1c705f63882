// Installs ONNX Runtime's CUDA provider. Its libraries must have the same version as the binding and lie beside it,
// where the runtime looks for them. They come from the NuGet package that the binding's own install script uses, or from
// the wheel onnxruntime_gpu of the Python package index, which has the same libraries.

import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { access, constants, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { WaggleError } from '../../../../protocol/errors.ts'
import { extract, listArchive } from './archive.ts'
import { findPackage, type PackageSource, unreachable } from './nuget.ts'

export interface InstallOptions {
  /** Folder of the package with ONNX Runtime. */
  binding: string
  platform: string
  arch: string
  /** A NuGet feed's index, or a package or wheel on disk. */
  from: { index: string } | { file: string }
  /** Expected digest of the package, `sha256:…` or `sha512:…` in hex. A feed provides its own. */
  digest?: string | undefined
}

interface Installed {
  version: string
  directory: string
  files: string[]
  bytes: number
  /** The major version of CUDA that the provider is linked with; undefined if it does not say. */
  cuda: number | undefined
  /** The hash that the package was checked against; undefined if there was no digest. */
  verified: 'sha256' | 'sha512' | undefined
}

interface InstallParts {
  fetch: typeof globalThis.fetch
  /** Called with the bytes received so far, and the total if known. */
  onProgress?: (done: number, total: number | undefined) => void
}

const PACKAGE = 'Microsoft.ML.OnnxRuntime.Gpu.Linux'
/** Where a NuGet package and a wheel have the libraries. */
const FOLDERS = ['runtimes/linux-x64/native/', 'onnxruntime/capi/']
const WHEEL_INFO = /^onnxruntime_gpu-([^/]+)\.dist-info\//
export const CUDA_FILES = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'] as const
const LARGEST_PACKAGE = 4e9

export async function installCuda(options: InstallOptions, parts: InstallParts): Promise<Installed> {
  const { binding, platform, arch, from } = options
  if (platform !== 'linux' || arch !== 'x64')
    throw new WaggleError(
      'E_ENGINE',
      `ONNX Runtime for Node has CUDA only on linux-x64, not on ${platform}-${arch}`,
      {
        hint: 'WebGPU works on NVIDIA cards, too, and needs only the driver: set engine.device to "webgpu".',
      },
    )
  const { version } = JSON.parse(await readFile(join(binding, 'package.json'), 'utf8')) as { version: string }
  const directory = join(binding, 'bin', 'napi-v6', 'linux', 'x64')
  await access(directory, constants.W_OK).catch((cause) => {
    throw new WaggleError('E_ENGINE', `cannot write to ${directory}: ${(cause as { code?: string }).code}`, {
      hint: 'The libraries must be installed beside the binding. Run this as the user that installed Waggle.',
      cause,
    })
  })
  const temporary = await mkdtemp(join(tmpdir(), 'waggle-cuda-'))
  try {
    const wanted = options.digest === undefined ? undefined : parseDigest(options.digest)
    const isFile = 'file' in from
    const source = isFile
      ? undefined
      : await findPackage({ index: from.index, name: PACKAGE, version }, parts)
    const path = isFile ? from.file : join(temporary, 'package.nupkg')
    if (source) await download(source, path, parts)
    const digest = wanted ?? source?.digest
    if (digest) await verify(path, digest)
    const bytes = await extractLibraries(path, version, directory)
    const cuda = await cudaOf(join(directory, CUDA_FILES[1]))
    return { version, directory, files: [...CUDA_FILES], bytes, cuda, verified: digest?.algorithm }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** Installs all files or none: they are first extracted to temporary files in the same folder. */
async function extractLibraries(path: string, version: string, directory: string): Promise<number> {
  const entries = await listArchive(path).catch((cause) => {
    if (cause instanceof WaggleError) throw cause
    throw new WaggleError('E_ENGINE', `cannot read ${path}: ${(cause as Error).message}`, { cause })
  })
  const wheel = entries.map(({ name }) => WHEEL_INFO.exec(name)?.[1]).find((found) => found !== undefined)
  if (wheel !== undefined && wheel !== version)
    throw new WaggleError('E_ENGINE', `${path} is of ONNX Runtime ${wheel}, and the binding of ${version}`, {
      hint: `Download the same version: pip download --no-deps onnxruntime-gpu==${version}`,
    })
  const parts = CUDA_FILES.map((name) => ({ name, part: join(directory, `${name}.part`) }))
  let bytes = 0
  try {
    for (const { name, part } of parts) {
      const entry = entries.find((entry) => FOLDERS.some((folder) => entry.name === `${folder}${name}`))
      if (!entry)
        throw new WaggleError('E_ENGINE', `${path} has no ${name}`, {
          hint: `It must be the NuGet package ${PACKAGE}, or the wheel onnxruntime_gpu for Linux on x86_64.`,
        })
      await extract(path, entry, part)
      bytes += entry.bytes
    }
    for (const { name, part } of parts) await rename(part, join(directory, name))
  } finally {
    for (const { part } of parts) await rm(part, { force: true })
  }
  return bytes
}

/** A library's start has the names of those that it needs. */
const START = 1 << 20

async function cudaOf(library: string): Promise<number | undefined> {
  const file = await open(library)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START), 0, START, 0)
    const found = /libcudart\.so\.(\d+)/.exec(buffer.toString('latin1', 0, bytesRead))
    return found ? Number(found[1]) : undefined
  } finally {
    await file.close()
  }
}

async function download(
  { url }: PackageSource,
  path: string,
  { fetch, onProgress }: InstallParts,
): Promise<void> {
  try {
    const answer = await fetch(url)
    if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`)
    const total = Number(answer.headers.get('content-length')) || undefined
    let done = 0
    const counting = new Transform({
      transform(piece: Buffer, _, pass) {
        done += piece.length
        onProgress?.(done, total)
        pass(done > LARGEST_PACKAGE ? new Error('it is far too long') : null, piece)
      },
    })
    await pipeline(Readable.fromWeb(answer.body as never), counting, createWriteStream(path))
  } catch (cause) {
    throw unreachable(url, cause)
  }
}

async function verify(path: string, { algorithm, value }: PackageSource['digest']): Promise<void> {
  const hash = createHash(algorithm)
  await pipeline(createReadStream(path), hash)
  if (hash.digest('base64') !== value)
    throw new WaggleError(
      'E_ENGINE',
      `${path} is not the expected package: its ${algorithm} digest differs`,
      {
        hint: 'It was damaged or changed during the download. Nothing was installed. Download it again.',
      },
    )
}

function parseDigest(text: string): PackageSource['digest'] {
  const [, algorithm, hex] = /^(sha256|sha512):([0-9a-f]+)$/i.exec(text) ?? []
  const length = { sha256: 64, sha512: 128 }[algorithm?.toLowerCase() ?? '']
  if (!algorithm || hex?.length !== length)
    throw new WaggleError(
      'E_USAGE',
      `--digest must be sha256: or sha512: followed by the digest in hex, not "${text}"`,
    )
  return {
    algorithm: algorithm.toLowerCase() as 'sha256' | 'sha512',
    value: Buffer.from(hex!, 'hex').toString('base64'),
  }
}
