// What package.json says in each form in which Waggle leaves a checkout. The checkout depends on onnxruntime-node,
// which has the libraries of all platforms; what is installed elsewhere names one small package for each platform
// instead, and npm takes the one that fits. None of them has an install script.

type Versions = Record<string, string>

export interface Manifest {
  name: string
  version: string
  scripts?: Record<string, string>
  dependencies: Versions
  optionalDependencies?: Versions
  devDependencies?: Versions
  [field: string]: unknown
}

/** As process.platform and process.arch, with a dash. */
export type Platform = `${string}-${string}`

const osAndCpu = (platform: Platform): { os: string[]; cpu: string[] } => {
  const [os, cpu] = platform.split('-') as [string, string]
  return { os: [os], cpu: [cpu] }
}

export const platformPackage = (publishAs: string, platform: Platform): string =>
  `${publishAs.split('/')[0]}/onnxruntime-${platform}`

/** Of the package with what onnxruntime-node has for one platform: as its own, without what only its installer needs. */
export function ofPlatform(official: Manifest, publishAs: string, platform: Platform): Manifest {
  const { version, license, main, types, author, dependencies, repository } = official
  return {
    name: platformPackage(publishAs, platform),
    version,
    description: `ONNX Runtime for Node.js on ${platform} alone: the files of ${official.name}, whose authors made them`,
    license,
    author,
    repository: { ...(repository as object), url: `git+${(repository as { url: string }).url}` },
    type: 'commonjs',
    ...osAndCpu(platform),
    main,
    types,
    dependencies: { 'onnxruntime-common': dependencies['onnxruntime-common']! },
  }
}

/** Of the package that npm publishes, for all platforms; what Waggle was built with is of no use to who installs it. */
export function ofNpm(checkout: Manifest, platforms: readonly Platform[]): Manifest {
  const { publishAs, ...whole } = checkout
  const without = new Set(['scripts', 'devDependencies', 'allowScripts', 'overrides'])
  const rest = Object.fromEntries(Object.entries(whole).filter(([field]) => !without.has(field))) as Manifest
  const { 'onnxruntime-node': version, ...dependencies } = rest.dependencies
  const ours = platforms.map((platform) => [platformPackage(publishAs as string, platform), version!])
  return { ...rest, name: publishAs as string, dependencies, optionalDependencies: Object.fromEntries(ours) }
}

/** Of the file that brings all that it depends on, for one platform. npm would ask a registry for peers, also optional ones. */
export function ofFile(checkout: Manifest, platform: Platform): Manifest {
  const { peerDependencies: _, peerDependenciesMeta: __, ...npm } = ofNpm(checkout, [platform])
  const bundleDependencies = Object.keys({ ...npm.dependencies, ...npm.optionalDependencies })
  return { ...npm, name: checkout.name, ...osAndCpu(platform), bundleDependencies }
}

export interface Locked {
  dependencies?: Versions
  optionalDependencies?: Versions
}

/** Paths in package-lock.json of these packages and of all that they depend on, as Node.js finds them. */
export function reached(locked: Readonly<Record<string, Locked>>, names: readonly string[]): string[] {
  const found = new Set<string>()
  const follow = (name: string, from: string): void => {
    const path = foldersAbove(from).find((folder) => locked[`${folder}node_modules/${name}`])
    const at = `${path}node_modules/${name}`
    if (path === undefined || found.has(at)) return
    found.add(at)
    const { dependencies, optionalDependencies } = locked[at]!
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) follow(next, at)
  }
  for (const name of names) follow(name, '')
  return [...found].sort()
}

/** `a/node_modules/b` gives `a/node_modules/b/`, `a/` and the root. */
function foldersAbove(path: string): string[] {
  const parts = path.split('/node_modules/')
  return path === ''
    ? ['']
    : [...parts.map((_, i) => `${parts.slice(0, parts.length - i).join('/node_modules/')}/`), '']
}
