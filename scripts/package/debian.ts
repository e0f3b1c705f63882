// Makes a Debian package of the folder that bundle.ts makes, with the systemd unit, which starts nothing by itself. With
// --try it is installed in a fresh Debian root, trains a step there and is removed; that needs root and mmdebstrap.
//
//   node --import tsx scripts/package/bundle.ts --out DIR && node --import tsx scripts/package/debian.ts --out DIR [--try]

import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, run, trainAndInterrupt } from './packed.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, '.cache/bundle') },
    try: { type: 'boolean', default: false },
  },
})
const out = resolve(values.out)
const { version, description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string
  description: string
}
const folder = join(out, `waggle-${version}-linux-${process.arch}`)
if (!existsSync(folder)) throw new Error(`${folder} is missing: run scripts/package/bundle.ts first`)
const architecture = process.arch === 'x64' ? 'amd64' : process.arch
const file = join(out, `waggle_${version}_${architecture}.deb`)

const CONTROL = `Package: waggle
Version: ${version}
Architecture: ${architecture}
Maintainer: Waggle's authors <waggle@localhost>
Section: science
Priority: optional
Depends: libc6 (>= 2.28), libstdc++6
Description: ${description.replace(/\.$/, '')}
 It brings its own Node.js. The systemd unit waggle.service is not enabled; /lib/systemd/system/waggle.service says how.
`
const USERS = 'u waggle - "Waggle" /var/lib/waggle\n'
const AFTER = `#!/bin/sh
set -e
if command -v systemd-sysusers > /dev/null; then systemd-sysusers waggle.conf; fi
`

const temporary = mkdtempSync(join(tmpdir(), 'waggle-debian-'))
try {
  const tree = join(temporary, 'tree')
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(join(tree, path, '..'), { recursive: true })
    writeFileSync(join(tree, path), text, { mode })
  }
  put('DEBIAN/control', CONTROL)
  put('DEBIAN/postinst', AFTER, 0o755)
  put('usr/lib/sysusers.d/waggle.conf', USERS)
  put('lib/systemd/system/waggle.service', readFileSync(join(ROOT, 'scripts/service/waggle.service'), 'utf8'))
  put('usr/share/man/man1/waggle.1', readFileSync(join(ROOT, 'docs/reference/waggle.1'), 'utf8'))
  mkdirSync(join(tree, 'usr/bin'), { recursive: true })
  symlinkSync('../lib/waggle/waggle', join(tree, 'usr/bin/waggle'))
  cpSync(folder, join(tree, 'usr/lib/waggle'), { recursive: true, verbatimSymlinks: true })
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree])
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, file], { stdio: 'ignore' })
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(0)} MB`)

  if (values.try) {
    const root = join(temporary, 'root')
    const place = { cwd: temporary, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' } }
    run('mmdebstrap', ['--variant=essential', '--include=libstdc++6', 'bookworm', root], place)
    cpSync(file, join(root, 'waggle.deb'))
    run('mount', ['-t', 'proc', 'proc', join(root, 'proc')], place)
    try {
      run('chroot', [root, 'dpkg', '--install', '/waggle.deb'], place)
      run('chroot', [root, 'waggle', '--version'], place)
      const waggle = ['chroot', root, 'waggle']
      await trainAndInterrupt({ up: [...waggle, 'up'], ask: [...waggle, 'status', '--json'] }, place)
      run('chroot', [root, 'dpkg', '--remove', 'waggle'], place)
      if (existsSync(join(root, 'usr/lib/waggle'))) throw new Error('something is left of it')
    } finally {
      execFileSync('umount', [join(root, 'proc')])
    }
  }
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
