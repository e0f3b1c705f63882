// ONNX Runtime: from the package for this platform alone, which a published Waggle names among its optional
// dependencies (scripts/package/platforms.ts makes it), else from onnxruntime-node, which has the libraries of all.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire, findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Onnxruntime from 'onnxruntime-node'
import { WaggleError } from '../../protocol/errors.ts'
import { PACKAGE_ROOT } from '../../protocol/package.ts'

interface Place {
  /** Folder of the package that asks. */
  root: string
  platform: string
  arch: string
}

/** Names of packages that may have ONNX Runtime for this platform, best first. */
function candidates({ root, platform, arch }: Place): string[] {
  const { optionalDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    optionalDependencies?: Record<string, string>
  }
  const ours = Object.keys(optionalDependencies).filter((name) =>
    name.endsWith(`/onnxruntime-${platform}-${arch}`),
  )
  return [...ours, 'onnxruntime-node']
}

/** The installed package with ONNX Runtime and its folder. Throws E_ENGINE if there is none. */
export function findOnnxruntime(
  place: Place = { root: PACKAGE_ROOT, platform: process.platform, arch: process.arch },
): { name: string; folder: string } {
  const names = candidates(place)
  for (const name of names) {
    const description = packageOf(name, place.root)
    if (description) return { name, folder: dirname(description) }
  }
  throw new WaggleError(
    'E_ENGINE',
    `ONNX Runtime for ${place.platform}-${place.arch} is not installed: there is no package ${names.join(' or ')}`,
    { hint: `Install Waggle again without --omit=optional, or add it by \`npm install ${names[0]}\`.` },
  )
}

function packageOf(name: string, root: string): string | undefined {
  try {
    const path = findPackageJSON(name, join(root, 'package.json'))
    return path && existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

export function loadOnnxruntime(): typeof Onnxruntime {
  return createRequire(import.meta.url)(findOnnxruntime().folder) as typeof Onnxruntime
}
