// Tries the OpenAPI document of the control API as a user's program would: makes a client of it with openapi-typescript and
// openapi-fetch, compiles a program against it, and runs that program against a real node over TCP.
//
//   node --import tsx scripts/package/api-client.ts

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { controlApi } from '../../daemon/control/api/openapi.ts'
import { VERSION } from '../../protocol/package.ts'
import { ROOT, run } from './packed.ts'

/** A busy machine takes its time. */
const UP_WITHIN_MS = 120_000

const PROGRAM = `
import createClient from 'openapi-fetch'
import type { paths } from './control.d.ts'

const [, , baseUrl, token] = process.argv
const client = createClient<paths>({ baseUrl: baseUrl!, headers: { authorization: \`Bearer \${token}\` } })

const health = await client.GET('/v1/health')
const run: string = health.data!.run
const series = await client.GET('/v1/series', { params: { query: { name: 'peers', points: 10 } } })
const points: number = series.data!.points.length
// @ts-expect-error an eval takes a number of prompts
const wrong = await client.POST('/v1/eval', { body: { promptsPerTask: 'many' } })
if (wrong.error?.code !== 'E_CONTROL') throw new Error('a body of another shape was accepted')
const paused = await client.POST('/v1/pause', { body: {} })
console.log(JSON.stringify({ state: health.data!.state, run, points, wrong: wrong.error.message, paused: paused.data!.done }))
`

const folder = mkdtempSync(join(tmpdir(), 'waggle-client-'))
const place = { cwd: folder, env: process.env }
const listening = createServer().listen(0, '127.0.0.1')
await sleep(10)
const { port } = listening.address() as { port: number }
listening.close()
const node = spawn(
  process.execPath,
  [
    ...[join(ROOT, 'daemon/cli/waggle.ts'), 'up', '--no-swarm', '--home', join(folder, 'home')],
    ...['--set', `control.listen=127.0.0.1:${port}`],
  ],
  { stdio: 'ignore' },
)
try {
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'control.json'), JSON.stringify(controlApi(VERSION)))
  writeFileSync(join(folder, 'program.ts'), PROGRAM)
  const packages = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3', '@types/node@24']
  run('npm', ['install', '--no-save', '--ignore-scripts', ...packages], place)
  run('npx', ['openapi-typescript', 'control.json', '-o', 'control.d.ts'], place)
  const flags =
    '--strict --noEmit --target es2023 --module nodenext --allowImportingTsExtensions --types node'
  run('npx', ['tsc', ...flags.split(' '), 'program.ts'], place)
  const url = `http://127.0.0.1:${port}`
  for (let waited = 0; ; waited += 500) {
    if (
      await fetch(`${url}/v1/health`).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      break
    if (waited > UP_WITHIN_MS || node.exitCode !== null) throw new Error('the node did not come up')
    await sleep(500)
  }
  const token = readFileSync(join(folder, 'home/control-admin.token'), 'utf8').trim()
  console.log(run(process.execPath, ['program.ts', url, token], place))
} finally {
  node.kill('SIGINT')
  await new Promise((resolve) => node.once('exit', resolve))
  rmSync(folder, { recursive: true })
}
