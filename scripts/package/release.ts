// The folder that npm publishes: what `npm pack` packs, under the name `publishAs` of package.json, since `waggle` is
// somebody else's on npm. Programs install it as `npm install waggle@npm:NAME`, so that they import `waggle`.
//
//   node --import tsx scripts/package/release.ts [--out DIR] [FILE.tgz]
//
// Packs this checkout if no file is given.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { pack, ROOT } from './packed.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: join(ROOT, '.cache/release') } },
})
const out = resolve(values.out)
const temporary = mkdtempSync(join(tmpdir(), 'waggle-release-'))
try {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const file = positionals[0] ? resolve(positionals[0]) : pack(temporary)
  execFileSync('tar', ['-xzf', file, '-C', out, '--strip-components=1'])
  const path = join(out, 'package.json')
  const { publishAs, ...manifest } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  // What it was built with is of no use to who installs it.
  const {
    scripts,
    devDependencies: _,
    ...rest
  } = manifest as { scripts: Record<string, string> } & Record<string, unknown>
  const { preinstall } = scripts
  const published = { ...rest, name: publishAs, scripts: { preinstall } }
  writeFileSync(path, `${JSON.stringify(published, null, 2)}\n`)
  console.log(`${out}: npm publish ${out} --access public --ignore-scripts`)
} finally {
  rmSync(temporary, { recursive: true })
}
