// The devices that the ONNX engine can use, and the platforms where they work, according to the binaries in the npm
// package onnxruntime-node 1.30 (`listSupportedBackends()` on each platform).

export const DEVICES = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const
export type Device = (typeof DEVICES)[number]

export interface Machine {
  platform: NodeJS.Platform
  arch: string
  /** Whether a path exists, or a directory has an entry that starts with this prefix. */
  has(path: string): boolean
  env: Readonly<Record<string, string | undefined>>
}

/** Devices besides the CPU that the binaries support. CUDA also needs what `waggle device install cuda` adds. */
export function drivable({ platform, arch }: Pick<Machine, 'platform' | 'arch'>): Device[] {
  switch (`${platform}-${arch}`) {
    case 'linux-x64':
      return ['webgpu', 'cuda']
    case 'win32-x64':
    case 'win32-arm64':
      return ['webgpu', 'dml']
    case 'darwin-arm64':
      return ['webgpu', 'coreml']
    default:
      return []
  }
}

/** Whether engines are sure to run on the processor. */
export function isOnlyProcessor(wanted: Device | 'auto', machine: Machine): boolean {
  const possible = wanted === 'auto' ? drivable(machine) : [wanted]
  return possible.every(
    (device) => device === 'cpu' || ruledOut(device, machine, wanted !== 'auto') !== undefined,
  )
}

/**
 * Why a device need not be tried; undefined if it should be. Does not touch drivers. If the config names the device, it
 * may be emulated in software, so entries in /dev are not required.
 */
export function ruledOut(device: Device, machine: Machine, isNamed = false): string | undefined {
  const { platform, arch, has, env } = machine
  if (device === 'cpu') return undefined
  if (!drivable(machine).includes(device)) return `not in ONNX Runtime for ${platform}-${arch}`
  if (platform !== 'linux') return undefined
  const hasNvidia = has('/dev/nvidia') || has('/dev/dxg')
  if (device === 'cuda') return hasNvidia ? undefined : 'no NVIDIA device in /dev'
  const named = env.VK_ICD_FILENAMES ?? env.VK_DRIVER_FILES
  return isNamed || hasNvidia || named || has('/dev/dri/render') ? undefined : 'no GPU in /dev'
}
