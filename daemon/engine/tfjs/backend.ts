// Finds TensorFlow.js and its fastest installed backend. All packages are optional peer dependencies, because the
// native ones download libtensorflow when they are installed.

import type * as tensorflow from '@tensorflow/tfjs-core'
import { WaggleError } from '../../../protocol/errors.ts'

export type Tensorflow = typeof tensorflow
export type Tensor = tensorflow.Tensor

interface Backend {
  tf: Tensorflow
  device: string
  reason: string
  /** Runs on the native TensorFlow library, with its own thread pool. Other backends compute in the calling thread. */
  isNative: boolean
}

interface BackendOptions {
  /** Imports a module by name; rejects like `import()`. */
  load?: (name: string) => Promise<unknown>
}

const CORE = '@tensorflow/tfjs-core'
/** Only used for the gradient rules of all operations, which its Node build registers and the core package does not. */
const GRADIENTS = '@tensorflow/tfjs-layers'

interface Candidate {
  module: string
  /** TensorFlow.js's name for the backend. */
  name: string
  device: string
  /** The package brings its own tfjs-core and exports it. */
  isNative: boolean
}

/** In order of preference. */
const CANDIDATES: readonly Candidate[] = [
  { module: '@tensorflow/tfjs-node-gpu', name: 'tensorflow', device: 'cuda', isNative: true },
  { module: '@tensorflow/tfjs-node', name: 'tensorflow', device: 'cpu', isNative: true },
  { module: '@tensorflow/tfjs-backend-wasm', name: 'wasm', device: 'wasm', isNative: false },
  { module: '@tensorflow/tfjs-backend-cpu', name: 'cpu', device: 'javascript', isNative: false },
]

export async function openBackend({ load = (name) => import(name) }: BackendOptions = {}): Promise<Backend> {
  const failures: string[] = []
  const attempt = async (module: string): Promise<unknown> => {
    try {
      const loaded = (await load(module)) as { default?: object }
      // The default export of a CommonJS module is the whole module. Whether it has named exports depends on the
      // loader.
      return loaded.default ?? loaded
    } catch (cause) {
      if (!isMissing(cause, module)) failures.push(`${module} cannot be loaded: ${firstLine(cause)}`)
      return undefined
    }
  }

  restoreRemovedHelpers(await import('node:util'))
  let core = (await attempt(CORE)) as Tensorflow | undefined
  const hasGradients = core !== undefined && (await attempt(GRADIENTS)) !== undefined
  if (core && !hasGradients) failures.push(`${GRADIENTS} is missing`)
  for (const { module, name, device, isNative } of CANDIDATES) {
    // Only the native packages bring a core and gradient rules of their own.
    if (!isNative && !hasGradients) continue
    const loaded = await attempt(module)
    if (!loaded) continue
    if (isNative) core = loaded as Tensorflow
    const tf = core!
    // Otherwise it prints advice to install another backend.
    tf.enableProdMode()
    if (!(await tf.setBackend(name).catch(() => false))) {
      failures.push(`${module} does not start`)
      continue
    }
    await tf.ready()
    const reason = [`${module} is installed`, ...failures].join('; ')
    return { tf, device, reason, isNative }
  }
  throw new WaggleError(
    'E_ENGINE',
    core
      ? 'engine.kind is "tfjs", but TensorFlow.js is not complete or has no backend that works here'
      : `engine.kind is "tfjs", but ${CORE} is not installed`,
    { hint: [INSTALL, ...failures].join(' '), data: { failures } },
  )
}

const VERSION = '4.22.0'
const INSTALL = `Run: npm install ${CORE}@${VERSION} ${GRADIENTS}@${VERSION} @tensorflow/tfjs-backend-wasm@${VERSION} (or, faster where its library installs, @tensorflow/tfjs-node@${VERSION}).`

/** tfjs-node 4.22 calls two functions of node:util that Node 23 removed. */
function restoreRemovedHelpers(namespace: object): void {
  const util = (namespace as { default: Record<string, unknown> }).default
  util.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined
  util.isArray ??= Array.isArray
}

function isMissing(cause: unknown, module: string): boolean {
  const { code, message } = cause as { code?: string; message?: string }
  return (
    (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') &&
    (message ?? '').includes(`'${module}'`)
  )
}

function firstLine(cause: unknown): string {
  return String(cause instanceof Error ? cause.message : cause).split('\n')[0] ?? ''
}
