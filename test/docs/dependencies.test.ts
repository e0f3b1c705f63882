// What an install takes from the registry, and what of it may run: as SECURITY.md says.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, read } from './blocks.ts'

interface Locked {
  integrity?: string
  hasInstallScript?: boolean
  optional?: boolean
  dev?: boolean
}

const manifest = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}
const locked = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }
const entries = Object.entries(locked.packages).filter(([path]) => path !== '')
const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

test('onnxruntime-node does not download anything when it is installed, whatever the version of npm', () => {
  // npm 12 reads the first, npm 7 to 11 run a script only where the lock file says that there is one.
  expect(manifest.allowScripts['onnxruntime-node']).toBe(false)
  expect(locked.packages['node_modules/onnxruntime-node']).not.toHaveProperty('hasInstallScript')
})

test('every package with an install script has been looked at', () => {
  const scripts = entries.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path))
  expect(Object.keys(manifest.allowScripts)).toEqual(expect.arrayContaining(scripts))
})

test('every package that a node runs on is checked by its hash', () => {
  const without = entries.filter(([, { integrity }]) => integrity === undefined)
  expect(without.filter(([, { dev }]) => !dev)).toEqual([])
  // Biome for other systems than Linux: a development tool, whose packages the registry in use here does not have.
  expect(without.filter(([path]) => !nameOf(path).startsWith('@biomejs/cli-'))).toEqual([])
})

test('versions are exact, and every dependency is imported by what is published', () => {
  for (const version of Object.values(manifest.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  const sources = ['daemon', 'plugins', 'protocol', 'tui']
    .flatMap((room) =>
      readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' }).map((file) => join(room, file)),
    )
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => read(file))
    .join('\n')
  const unused = Object.keys(manifest.dependencies).filter(
    (name) => !new RegExp(`['"]${name.replaceAll('/', '\\/')}(/[^'"]*)?['"]`).test(sources),
  )
  expect(unused).toEqual([])
})
