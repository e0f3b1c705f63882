// Where a node can train: the systems for which the npm package onnxruntime-node has binaries. On Linux, they need
// glibc.

import { WaggleError } from '../../protocol/errors.ts'

export interface System {
  /** As process.platform and process.arch. */
  platform: string
  arch: string
  /** Version of the running glibc; undefined with another C library, such as musl. */
  glibc: string | undefined
}

/** The systems supported by onnxruntime-node 1.30. */
export const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64'] as const

export function thisSystem(): System {
  const { platform, arch } = process
  if (platform !== 'linux') return { platform, arch, glibc: undefined }
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  const before = report.excludeNetwork
  // Without this, the report would look up the names of network addresses.
  report.excludeNetwork = true
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } }
  report.excludeNetwork = before
  return { platform, arch, glibc: header.glibcVersionRuntime }
}

/** Throws E_ENGINE if there is no engine for this system. */
export function checkSupported({ platform, arch, glibc }: System): void {
  const name = `${platform}-${arch}`
  if (!SUPPORTED.some((one) => one === name))
    throw new WaggleError('E_ENGINE', `a node cannot train on ${name}: ONNX Runtime has no binaries for it`, {
      hint: `It has some for ${SUPPORTED.join(', ')}. On a Raspberry Pi 3 or newer, install a 64-bit system. \`waggle relay\` and commands for other nodes work here.`,
    })
  if (platform === 'linux' && glibc === undefined)
    throw new WaggleError(
      'E_ENGINE',
      'a node cannot train here: ONNX Runtime needs glibc, and this system has another C library, probably musl',
      {
        hint: 'Use a system or a container image with glibc, such as Debian (`node:24-bookworm-slim` instead of `node:24-alpine`). `waggle relay` and commands for other nodes work here.',
      },
    )
}
