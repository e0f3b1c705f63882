// Trains on environments that real OpenEnv servers serve: the environment that `openenv init` makes (it echoes, and pays
// for length), and one of sums. Then the server of sums is killed, and comes back.
//
//   node --import tsx scripts/agents/openenv.ts [seconds]

import { type ChildProcess, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve, startPlayer, tell } from './servers.ts'
import { pythonWith, versionsOf } from './venv.ts'

const seconds = Number(process.argv[2] ?? 300)
const python = pythonWith('openenv', ['openenv'])
const folder = mkdtempSync(join(tmpdir(), 'waggle-openenv-'))
console.log(versionsOf(python, ['openenv', 'fastapi', 'websockets']))

process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const sumsServer = (): Promise<ChildProcess> => serve(8731, [python, 'scripts/agents/sums_server.py', '8731'])
execFileSync(python, ['-m', 'openenv.cli', 'init', 'echo_env', '--output-dir', folder], { stdio: 'ignore' })
const interpreter = execFileSync(python, ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim()
await serve(
  8732,
  [interpreter, '-m', 'uvicorn', 'server.app:app', '--port', '8732'],
  join(folder, 'echo_env'),
)
let sums = await sumsServer()

const node = await startPlayer(
  join(folder, 'home'),
  '{ name = "sums", use = "openenv", url = "http://127.0.0.1:8731", turns = 1 }',
  '{ name = "echo", use = "openenv", url = "http://127.0.0.1:8732", turns = 2, sessions = 2, observation = "echoed_message" }',
)
const started = performance.now()
for (let t = 0; t < seconds; t += 20) {
  await sleep(20_000)
  await tell(node, started)
}
console.log('the server of sums is killed')
sums.kill('SIGKILL')
await sleep(15_000)
await tell(node, started)
console.log('and comes back')
sums = await sumsServer()
await sleep(75_000)
await tell(node, started)
await node.stop()
process.exit(0)
