// Makes what is published and what is installed until then, from this checkout:
//
//   OUT/npm                    the folder that npm publishes, under the name `publishAs` of package.json, since `waggle` is
//                              somebody else's on npm; programs install it as `npm install waggle@npm:NAME`
//   OUT/onnxruntime-PLATFORM   folders of packages that have ONNX Runtime for one platform; published before it
//   OUT/waggle-VERSION-PLATFORM.tgz   brings all that it depends on: `npm install` of it needs no registry
//
//   node --import tsx scripts/package/release.ts [--out DIR] [--platform linux-x64]... [FILE.tgz]
//
// FILE.tgz is what `npm pack` made of the checkout; it is packed if none is given. The last file is made for this platform
// alone unless others are named. All of it comes from node_modules, so from the packages that package-lock.json names.

import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { SUPPORTED } from '../../daemon/platform/support.ts'
import {
  type Locked,
  type Manifest,
  ofFile,
  ofNpm,
  ofPlatform,
  type Platform,
  platformPackage,
  reached,
} from './manifests.ts'
import { pack, prune, ROOT } from './packed.ts'

const here = `${process.platform}-${process.arch}`
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: join(ROOT, '.cache/release') },
    platform: { type: 'string', multiple: true, default: [here] },
  },
})
const out = resolve(values.out)
const read = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T
const write = (folder: string, manifest: Manifest): void =>
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

const BINDINGS = join(ROOT, 'node_modules/onnxruntime-node')
const bindingsOf = (platform: Platform): string => join('bin/napi-v6', ...platform.split('-'))

function makePlatform(platform: Platform, publishAs: string): void {
  const folder = join(out, `onnxruntime-${platform}`)
  mkdirSync(folder)
  cpSync(join(BINDINGS, 'dist'), join(folder, 'dist'), {
    recursive: true,
    filter: (path) => !path.endsWith('.map'),
  })
  const from = join(BINDINGS, bindingsOf(platform))
  const to = join(folder, bindingsOf(platform))
  mkdirSync(to, { recursive: true })
  for (const file of readdirSync(from)) if (isLoaded(from, file)) cpSync(join(from, file), join(to, file))
  // Its package on npm lacks them; these are from ONNX Runtime's Python package of this version.
  cpSync(join(ROOT, 'scripts/package/onnxruntime'), folder, { recursive: true })
  const manifest = ofPlatform(read(join(BINDINGS, 'package.json')), publishAs, platform)
  write(folder, manifest)
  writeFileSync(
    join(folder, 'README.md'),
    `# ${manifest.name}\n\n${manifest.description}. Waggle installs it; it is used as \`onnxruntime-node\` is.\n`,
  )
}

/** Whether it is not another name for a file that the binding asks for, as on macOS the one with the whole version is. */
function isLoaded(folder: string, file: string): boolean {
  const bytes = readFileSync(join(folder, file))
  const same = readdirSync(folder).filter(
    (other) => other !== file && statSync(join(folder, other)).size === bytes.length,
  )
  if (!same.some((other) => readFileSync(join(folder, other)).equals(bytes))) return true
  return readFileSync(join(folder, 'onnxruntime_binding.node')).includes(`/${file}\0`)
}

/** `waggle-VERSION-PLATFORM.tgz` of the published folder and its dependencies. */
function makeFile(platform: Platform, { checkout, npm }: { checkout: Manifest; npm: string }): void {
  const folder = join(temporary, platform, 'package')
  cpSync(npm, folder, { recursive: true, filter: (path) => !path.endsWith('.map') })
  const manifest = ofFile(checkout, platform)
  write(folder, manifest)
  const { packages } = read<{ packages: Record<string, Locked> }>(join(ROOT, 'package-lock.json'))
  for (const path of reached(packages, [...Object.keys(manifest.dependencies), 'onnxruntime-common']))
    cpSync(join(ROOT, path), join(folder, path), {
      recursive: true,
      filter: (from) => !from.slice(join(ROOT, path).length).includes('/node_modules'),
    })
  // What Waggle exports names no type of theirs.
  prune(join(folder, 'node_modules'))
  const ours = platformPackage(checkout.publishAs as string, platform)
  cpSync(join(out, `onnxruntime-${platform}`), join(folder, 'node_modules', ours), { recursive: true })
  leaveLevel(join(folder, 'node_modules/classic-level'), platform)
  const file = join(out, `waggle-${checkout.version}-${platform}.tgz`)
  execFileSync('tar', ['-czf', file, '-C', join(temporary, platform), 'package'])
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(0)} MB`)
}

/** The database's library for this platform, which its install script would only look for. */
function leaveLevel(folder: string, platform: Platform): void {
  const prebuilds = join(folder, 'prebuilds')
  const [os, cpu] = platform.split('-') as [string, string]
  for (const name of readdirSync(prebuilds))
    if (
      !(
        name.startsWith(`${os}-`) &&
        name
          .slice(os.length + 1)
          .split('+')
          .includes(cpu)
      )
    )
      rmSync(join(prebuilds, name), { recursive: true })
  if (!existsSync(prebuilds) || readdirSync(prebuilds).length === 0)
    throw new Error(`classic-level has no library for ${platform}`)
  for (const source of ['deps', 'binding.gyp', 'binding.cc'])
    rmSync(join(folder, source), { recursive: true })
  const { scripts: _, ...manifest } = read<Manifest>(join(folder, 'package.json'))
  write(folder, { ...manifest, gypfile: false } as Manifest)
}

const temporary = mkdtempSync(join(tmpdir(), 'waggle-release-'))
try {
  rmSync(out, { recursive: true, force: true })
  const npm = join(out, 'npm')
  mkdirSync(npm, { recursive: true })
  const file = positionals[0] ? resolve(positionals[0]) : pack(temporary)
  execFileSync('tar', ['-xzf', file, '-C', npm, '--strip-components=1'])
  const checkout = read<Manifest>(join(npm, 'package.json'))
  write(npm, ofNpm(checkout, SUPPORTED))
  rmSync(join(npm, 'scripts/package'), { recursive: true })
  for (const platform of SUPPORTED) makePlatform(platform, checkout.publishAs as string)
  for (const platform of values.platform as Platform[]) makeFile(platform, { checkout, npm })
  for (const folder of readdirSync(out)
    .filter((name) => statSync(join(out, name)).isDirectory())
    .sort()
    .reverse())
    console.log(`npm publish ${join(out, basename(folder))} --access public --ignore-scripts`)
} finally {
  rmSync(temporary, { recursive: true })
}
