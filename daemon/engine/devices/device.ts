// The devices that the ONNX engine can be told to use, and where each can be had: what the npm package of
// onnxruntime-node 1.30 has in its binaries (`listSupportedBackends()` on each platform).

export const DEVICES = ['cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const
export type Device = (typeof DEVICES)[number]

export interface Machine {
  platform: NodeJS.Platform
  arch: string
  /** Whether a path exists, or a directory has an entry that begins so. */
  has(path: string): boolean
  env: Readonly<Record<string, string | undefined>>
}

/** Devices beside the CPU that the binaries can drive. CUDA's own files come with `waggle device install cuda`. */
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

/**
 * Why a device is not worth a try, or undefined. Drivers are not touched for this. One that is asked for by name may be
 * in software, which needs nothing in /dev.
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
