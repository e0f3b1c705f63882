// Times short commands of the published build against a running node, from the call to the last byte of output.
//
//   node --import tsx scripts/bench/commands.ts [--runs 20]

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { runs: { type: 'string', default: '20' } } })
const runs = Number(values.runs)

const COMMANDS = [
  ['version'],
  ['status'],
  ['status', '--json'],
  ['peers'],
  ['logs', '-n', '10'],
  ['help', 'up'],
  ['config', 'show'],
]

const folder = mkdtempSync(join(tmpdir(), 'waggle-bench-commands-'))
const home = join(folder, 'home')
const program = join(folder, 'dist/daemon/cli/waggle.js')
execFileSync(process.execPath, [
  join(ROOT, 'node_modules/typescript/bin/tsc'),
  '-p',
  join(ROOT, 'tsconfig.build.json'),
  '--outDir',
  join(folder, 'dist'),
])
copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
for (const name of ['node_modules', 'models']) symlinkSync(join(ROOT, name), join(folder, name))

// Its numbers follow a script, so that it takes no time from what is measured.
const node = spawn(
  process.execPath,
  ['--import', 'tsx', join(ROOT, 'test/cli/scripted-waggle.ts'), 'up', '--home', home],
  { cwd: ROOT, stdio: 'ignore' },
)
try {
  while (!existsSync(join(home, 'control.sock'))) await sleep(100)
  console.log('| command | median | fastest |\n|---|---|---|')
  const bare = () => spawnSync(process.execPath, ['-e', '0'])
  report('node -e 0, for comparison', bare)
  for (const words of COMMANDS) {
    report(`waggle ${words.join(' ')}`, () => {
      const { status, stderr } = spawnSync(process.execPath, [program, ...words, '--home', home], {
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(stderr)
    })
  }
} finally {
  node.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

function report(name: string, run: () => unknown): void {
  run()
  const times = Array.from({ length: runs }, () => {
    const began = performance.now()
    run()
    return performance.now() - began
  }).sort((a, b) => a - b)
  console.log(`| \`${name}\` | ${times[runs >> 1]!.toFixed(0)} ms | ${times[0]!.toFixed(0)} ms |`)
}
