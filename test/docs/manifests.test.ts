// What the forms of the package say, in which Waggle leaves a checkout.

import { expect, test } from 'vitest'
import { SUPPORTED } from '../../daemon/platform/support.ts'
import {
  type Locked,
  type Manifest,
  ofFile,
  ofNpm,
  ofPlatform,
  reached,
} from '../../scripts/package/manifests.ts'
import { read } from './blocks.ts'

const checkout = JSON.parse(read('package.json')) as Manifest
const official = JSON.parse(read('node_modules/onnxruntime-node/package.json')) as Manifest
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }
const publishAs = checkout.publishAs as string
const version = checkout.dependencies['onnxruntime-node']!

test('none of them has an install script', () => {
  for (const manifest of [
    ofNpm(checkout, SUPPORTED),
    ofFile(checkout, 'linux-x64'),
    ...SUPPORTED.map((platform) => ofPlatform(official, publishAs, platform)),
  ])
    expect(manifest.scripts).toBeUndefined()
})

test('what npm publishes names a package for each platform instead of the one of all, of the same version', () => {
  const { name, dependencies, optionalDependencies, devDependencies } = ofNpm(checkout, SUPPORTED)
  expect({ name, devDependencies }).toEqual({ name: publishAs, devDependencies: undefined })
  expect(optionalDependencies).toEqual(
    Object.fromEntries(
      SUPPORTED.map((platform) => [ofPlatform(official, publishAs, platform).name, version]),
    ),
  )
  expect({ ...dependencies, 'onnxruntime-node': version }).toEqual(checkout.dependencies)
})

test('npm takes a package for another platform only where it fits', () => {
  const { os, cpu, dependencies } = ofPlatform(official, publishAs, 'darwin-arm64')
  expect({ os, cpu }).toEqual({ os: ['darwin'], cpu: ['arm64'] })
  // Not what only its install script needs.
  expect(dependencies).toEqual({ 'onnxruntime-common': version })
})

test('a file for one platform brings all that it depends on', () => {
  const { name, os, dependencies, optionalDependencies, bundleDependencies, peerDependencies } = ofFile(
    checkout,
    'win32-x64',
  )
  expect({ name, os, peerDependencies }).toEqual({
    name: 'waggle',
    os: ['win32'],
    peerDependencies: undefined,
  })
  expect(Object.keys(optionalDependencies!)).toEqual([ofPlatform(official, publishAs, 'win32-x64').name])
  expect(bundleDependencies).toEqual([...Object.keys(dependencies), ...Object.keys(optionalDependencies!)])
})

test('packages are followed as Node.js finds them: inside the one that asks, then above it', () => {
  const locked = {
    '': { dependencies: { a: '1', z: '1' } },
    'node_modules/a': { dependencies: { b: '2', c: '1' }, optionalDependencies: { absent: '1' } },
    'node_modules/a/node_modules/b': { dependencies: { c: '1', d: '1' } },
    'node_modules/a/node_modules/b/node_modules/d': {},
    'node_modules/b': {},
    'node_modules/c': { dependencies: { a: '1' } },
    'node_modules/@s/z': {},
  }
  expect(reached(locked, ['a'])).toEqual([
    'node_modules/a',
    'node_modules/a/node_modules/b',
    'node_modules/a/node_modules/b/node_modules/d',
    'node_modules/c',
  ])
})

test('nothing that only the installer of onnxruntime-node needs is brought along', () => {
  const paths = reached(packages, Object.keys(ofFile(checkout, 'linux-x64').dependencies))
  expect(paths).toContain('node_modules/libp2p')
  for (const name of ['onnxruntime-node', 'adm-zip', 'global-agent', 'typescript'])
    expect(paths).not.toContain(`node_modules/${name}`)
})
