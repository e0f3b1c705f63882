// Clients from the Python package index, unchanged, train a model through the gateway: OpenAI's, an environment of
// `verifiers`, and the HTTP client of Agent Lightning.
//
//   node --import tsx scripts/agents/python.ts [seconds of OpenAI's client]
//
// verifiers starts its harness with `uv`, which downloads what the harness needs.

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { startNode } from '../lab/nodes/process.ts'
import { pythonWith, versionsOf } from './venv.ts'

const run = promisify(execFile)
const seconds = Number(process.argv[2] ?? 120)
const home = mkdtempSync(join(tmpdir(), 'waggle-python-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
const settings = {
  tasks: '[]',
  'agents.listen': '127.0.0.1:4294',
  'model.path': 'models/three-tasks',
  'training.batch_groups': 4,
  'training.method': 'full',
  'training.learning_rate': 0.0002,
  'training.warm_up_steps': 0,
}
const node = await startNode(home, [
  '--no-swarm',
  ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
])
const gateway = 'http://127.0.0.1:4294'
const token = readFileSync(join(home, 'agents.token'), 'utf8').trim()

async function attempt(
  name: string,
  packages: string[],
  script: string,
  args: string[],
  more = {},
): Promise<void> {
  try {
    const python = resolve(pythonWith(name, packages))
    console.log(`${script}: ${versionsOf(python, packages)}`)
    const before = (await node.snapshot()).agents!
    const path = `${resolve(python, '..')}:${process.env.PATH}`
    const { stdout } = await run(python, [`scripts/agents/${script}`, ...args], {
      env: { ...process.env, PATH: path, WAGGLE_AGENTS: gateway, WAGGLE_AGENTS_TOKEN: token, ...more },
      timeout: 20 * 60_000,
    })
    const { training, agents } = await node.snapshot()
    console.log(stdout.trimEnd().replaceAll(/^/gm, '  '))
    console.log(`  ${agents!.groups - before.groups} groups; the node is at step ${training?.step ?? 0}`)
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string }
    console.log(`  does not run: ${message.split('\n')[0]}\n${stderr.split('\n').slice(-12).join('\n')}`)
  }
}

await attempt('openai', ['openai'], 'openai_client.py', [String(seconds)])
await attempt('verifiers', ['verifiers', 'uv'], 'verifiers_client.py', ['2'])
await attempt('agentlightning', ['agentlightning', 'openai'], 'agentlightning_client.py', [])
await node.stop()
process.exit(0)
