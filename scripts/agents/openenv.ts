// Trains on environments that real OpenEnv servers serve: the environment that `openenv init` makes (it echoes, and pays
// for length), and one of sums. Then the server of sums is killed, and comes back.
//
//   node --import tsx scripts/agents/openenv.ts [seconds]

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startNode } from '../experiments/node-process.ts'
import { pythonWith, versionsOf } from './venv.ts'

const seconds = Number(process.argv[2] ?? 300)
const python = pythonWith('openenv', ['openenv'])
const folder = mkdtempSync(join(tmpdir(), 'waggle-openenv-'))
console.log(versionsOf(python, ['openenv', 'fastapi', 'websockets']))

const children: ChildProcess[] = []
const serve = async (port: number, args: string[], cwd?: string): Promise<ChildProcess> => {
  const child = spawn(args[0]!, args.slice(1), {
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(cwd ? { cwd } : {}),
  })
  children.push(child)
  for (let i = 0; i < 1500; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
    if (response?.ok) return child
    await sleep(200)
  }
  throw new Error(`no server on port ${port}`)
}
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

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

const environments = `[${[
  '{ name = "sums", use = "openenv", url = "http://127.0.0.1:8731", turns = 1 }',
  '{ name = "echo", use = "openenv", url = "http://127.0.0.1:8732", turns = 2, sessions = 2, observation = "echoed_message" }',
].join(', ')}]`
const settings = {
  environments,
  tasks: '[]',
  'model.path': 'models/three-tasks',
  'training.own_groups': '8',
  'training.learning_rate': '0.0002',
  'training.warm_up_steps': '0',
}
const node = await startNode(join(folder, 'home'), [
  '--no-swarm',
  ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
])
const started = performance.now()
const tell = async (): Promise<void> => {
  const { training, agents } = await node.snapshot()
  const at = `${((performance.now() - started) / 1000).toFixed(0)} s`
  const accuracy = Object.entries(training?.taskAccuracy ?? {}).map(
    ([name, value]) => `${name} ${value.toFixed(3)}`,
  )
  const { rewarded, groups, dropped, environments: played } = agents!
  console.log(
    [at, `step ${training?.step ?? 0}`, accuracy.join(' '), `${rewarded} episodes, ${groups} groups`]
      .concat(JSON.stringify(dropped), played!.flatMap(({ trouble }) => trouble ?? []).join())
      .join('  '),
  )
}
for (let t = 0; t < seconds; t += 20) {
  await sleep(20_000)
  await tell()
}
console.log('the server of sums is killed')
sums.kill('SIGKILL')
await sleep(15_000)
await tell()
console.log('and comes back')
sums = await sumsServer()
await sleep(75_000)
await tell()
await node.stop()
process.exit(0)
