// Do a node of an older version and one of this checkout train together?
// `npm run -s lab:versions [-- --commit COMMIT --minutes 5]`
//
// Checks the older version out into .cache/versions, with its own dependencies, starts a node of each on loopback, and lets
// the newer one join the older one. Prints what each got of the other, or why they part. Fails if one trained on nothing
// of the other's. By default the older version is the last commit that is two days old.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startNode } from './nodes/process.ts'

const { values } = parseArgs({
  options: {
    commit: { type: 'string' },
    /** How long they train together, at most. */
    minutes: { type: 'string', default: '5' },
    port: { type: 'string', default: '42017' },
  },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const commit = git(
  'rev-parse',
  '--short',
  values.commit ?? git('rev-list', '-1', '--before=2 days ago', 'HEAD'),
)
const older = join(root, '.cache/versions', commit)
if (!existsSync(join(older, 'node_modules'))) {
  mkdirSync(older, { recursive: true })
  const packed = join(older, 'packed.tar')
  git('archive', '--output', packed, commit)
  execFileSync('tar', ['xf', packed], { cwd: older })
  rmSync(packed)
  const lock = 'package-lock.json'
  const isSame = readFileSync(join(older, lock), 'utf8') === readFileSync(join(root, lock), 'utf8')
  if (isSame) symlinkSync(join(root, 'node_modules'), join(older, 'node_modules'))
  else
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: older,
      stdio: 'inherit',
    })
}

const place = mkdtempSync(join(tmpdir(), 'waggle-versions-'))
const homeOf = (name: string, port: number): string => {
  const home = join(place, name)
  mkdirSync(home)
  writeFileSync(
    join(home, 'config.toml'),
    `[swarm]\nname = "versions-${process.pid}"\nlisten = ["/ip4/127.0.0.1/tcp/${port}"]\n[eval]\nevery_seconds = 0\n`,
  )
  return home
}
const nodes = {
  [`older (${commit})`]: await startNode(homeOf('older', Number(values.port)), [], { root: older }),
  [`this (${git('rev-parse', '--short', 'HEAD')})`]: await startNode(homeOf('newer', 0)),
}
try {
  const [first, second] = Object.values(nodes)
  const { peerId } = (await first!.snapshot()).node
  await second!.join(`/ip4/127.0.0.1/tcp/${values.port}/p2p/${peerId}`)
  const until = Date.now() + Number(values.minutes) * 60_000
  for (;;) {
    const looks = await Promise.all(
      Object.entries(nodes).map(async ([name, node]) => {
        const { rollouts, training } = await node.snapshot()
        return {
          node: name,
          steps: training?.step ?? 0,
          own: rollouts?.generated ?? 0,
          verified: rollouts?.verified ?? 0,
          trainedForeign: rollouts?.trainedForeign ?? 0,
          refused: rollouts?.refused ?? {},
        }
      }),
    )
    const isMutual = looks.every(({ trainedForeign }) => trainedForeign > 0)
    if (!isMutual && Date.now() < until) {
      await sleep(2000)
      continue
    }
    for (const look of looks) console.log(JSON.stringify(look))
    process.exitCode = isMutual ? 0 : 1
    break
  }
} catch (error) {
  console.log(`they do not train together: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  await Promise.all(Object.values(nodes).map((node) => node.stop()))
  rmSync(place, { recursive: true, force: true })
}
