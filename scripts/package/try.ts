// Tries the file of release.ts as a new user would: in an empty folder, with an empty home and an empty cache of npm, and
// without a registry. Imports every export, type-checks a program against it, and runs a
// node. Fails if any step that a user takes fails.
//
//   node --import tsx scripts/package/try.ts [--node DIR] [FILE.tgz]
//
// Makes the file if none is given. --node is the folder of another Node.js to try it with.

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type ExecPlace, packWhole, ROOT, run, trainAndInterrupt, userPath } from './packed.ts'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { node: { type: 'string' } } })
const temporary = mkdtempSync(join(tmpdir(), 'waggle-package-'))
const [home, folder, bin] = ['home', 'empty', 'bin'].map((name) => join(temporary, name)) as [
  string,
  string,
  string,
]
for (const made of [home, folder, bin]) mkdirSync(made)

const env: NodeJS.ProcessEnv = {
  HOME: home,
  PATH: [...(values.node ? [resolve(values.node)] : []), userPath()].join(delimiter),
  npm_config_registry: 'http://127.0.0.1:9',
  npm_config_update_notifier: 'false',
}
const place: ExecPlace = { cwd: folder, env }
const waggle = join(folder, 'node_modules/.bin/waggle')

/** Older than package.json allows. */
function isTooOld(has: string, wants: string): boolean {
  const [is, least] = [has, wants].map((text) => text.match(/\d+/g)!.map(Number)) as [number[], number[]]
  return is[0]! < least[0]! || (is[0] === least[0] && is[1]! < least[1]!)
}

/** What publint says of the installed package and of what npm would publish beside it. */
async function lint(folders: readonly string[]): Promise<void> {
  for (const pkgDir of folders) {
    const { messages, pkg } = await publint({ pkgDir, level: 'warning', strict: true, pack: false })
    const told = messages.map((message) => formatMessage(message, pkg))
    if (told.length > 0) throw new Error(`publint of ${pkgDir}:\n${told.join('\n')}`)
    console.log(`ok            publint of ${basename(pkgDir)}`)
  }
}

/** A program of a user: everything that docs/library.md shows, by type. */
const PROGRAM = `
import { createTrainer, type Model, objectiveOf, openModel, expression, type Row, type Sample, WaggleError } from 'waggle'
import { defineEnvironment, defineEstimator, defineTask, definePlugin, type Plugin } from 'waggle/plugin'
import { conformance } from 'waggle/plugin/testing'
import { hasSignal, type Group } from 'waggle/protocol'

export async function program(): Promise<number> {
  const model: Model = await openModel('default', { adapter: { rank: 4 } })
  const groups: Sample[][] = await model.sample(['a'], { seed: 1 })
  const rows: Row[] = groups.flat().map((sample) => ({ ...sample, columns: { advantage: 1 } }))
  const { loss } = await objectiveOf(['clip'])
  await model.accumulate(rows, { loss: expression.mul(loss, 2) })
  const { norm } = await model.step({ learningRate: 1e-4 })
  const trainer = await createTrainer(model, { seed: 1, tasks: ['basic_arithmetic'] })
  const { groups: played } = await trainer.round()
  return played.filter((group: Group) => hasSignal(group)).length + norm
}
// @ts-expect-error a seed is required
export const wrong = (model: Model) => model.sample(['a'], {})
export const known: [typeof defineTask, typeof definePlugin, typeof conformance, typeof WaggleError, Plugin?] = [defineTask, definePlugin, conformance, WaggleError]
export const more = [defineEnvironment, defineEstimator]
`

function typeCheck(): void {
  writeFileSync(join(folder, 'program.mts'), PROGRAM)
  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const flags = ['--noEmit', '--strict', '--target', 'es2023', '--skipLibCheck', 'false']
    run(
      process.execPath,
      [
        join(ROOT, 'node_modules/typescript/bin/tsc'),
        ...flags,
        '--module',
        module!,
        '--moduleResolution',
        moduleResolution!,
        'program.mts',
      ],
      place,
    )
  }
}

try {
  const tarball = positionals[0] ? resolve(positionals[0]) : packWhole(join(temporary, 'release'))
  const description = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { version, engines, exports } = description as {
    version: string
    engines: { node: string }
    exports: Record<string, unknown>
  }
  const published = readdirSync(dirname(tarball), { withFileTypes: true }).filter((one) => one.isDirectory())
  await lint(published.map(({ name }) => join(dirname(tarball), name)))
  // Its `type` is commonjs.
  run('npm', ['init', '-y'], place)
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', tarball], place)

  const has = run('node', ['--version'], place).trim()
  if (isTooOld(has, engines.node)) {
    const said = run(waggle, ['up'], place, 2)
    if (!said.includes(`this is ${has.slice(1)}`)) throw new Error(`an old Node.js is told: ${said}`)
    console.log(`      Node.js ${has} is refused with a clear error; what follows uses ${process.version}`)
    symlinkSync(process.execPath, join(bin, 'node'))
    env.PATH = [bin, env.PATH].join(delimiter)
  }

  for (const name of Object.keys(exports))
    if (!name.endsWith('.json')) {
      const specifier = join('waggle', name)
      const names = `import('${specifier}').then((all) => console.log(Object.keys(all).length))`
      if (!(Number(run('node', ['-e', names], place)) > 0)) throw new Error(`${specifier} exports nothing`)
    }
  typeCheck()
  // The program of docs/library.md, as it stands there.
  copyFileSync(join(ROOT, 'scripts/library/loop.mts'), join(folder, 'loop.mts'))
  if (!/step 2, mean reward/.test(run('node', ['loop.mts', '2'], place)))
    throw new Error('the loop took no step')

  const said = run('npx', ['waggle', '--version'], place)
  if (!said.includes(version)) throw new Error(`--version prints ${said}, but package.json has ${version}`)
  run('npx', ['waggle', '--help'], place)
  run(waggle, ['doctor'], place)
  run(waggle, ['plugins', 'new', 'control', 'patience'], place)
  // TypeScript, with no compiler at hand.
  run(waggle, ['plugins', 'check', 'patience/patience.ts'], place)
  await trainAndInterrupt({ up: ['npx', 'waggle', 'up'], ask: [waggle, 'status', '--json'] }, place)
  run(waggle, ['export', 'model', './trained'], place)
  console.log(`ok            ${readdirSync(join(folder, 'trained')).length} files in ./trained`)
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
