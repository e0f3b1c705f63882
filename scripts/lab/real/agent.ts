// An agent of scripts/agents that calls tools, trained by a node as a user would: the node serves agents, the script gets
// its URL. One look at held-out prompts before and one after.
//
//   npm run -s lab:agent -- --model smollm2.gguf --agent calculator --seeds 1,2
//   npm run -s lab:agent -- --show
//
// Each run adds a line to docs/results/agents.jsonl.

import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { startNode } from '../nodes/process.ts'

const { values: flags } = parseArgs({
  options: {
    agent: { type: 'string', default: 'calculator' },
    model: { type: 'string' },
    groups: { type: 'string', default: '48' },
    group: { type: 'string', default: '4' },
    batch: { type: 'string', default: '2' },
    rate: { type: 'string', default: '3e-4' },
    'held-out': { type: 'string', default: '48' },
    seeds: { type: 'string', default: '1' },
    out: { type: 'string', default: 'docs/results/agents.jsonl' },
    show: { type: 'boolean' },
  },
})
const PORT = 4296

/** One attempt at each held-out prompt, at the temperature of training. */
interface Look {
  reward: number
  solved: number
  prompts: number
}

interface Run {
  agent: string
  model: string
  seed: number
  settings: Record<string, string>
  before: Look
  after: Look
  /** Means over the rewards of the groups since the last point. */
  curve: { groups: number; step: number; seconds: number; reward: number }[]
  load: number
}

async function run(model: string, seed: string): Promise<Run> {
  const home = mkdtempSync(join(tmpdir(), 'waggle-agent-'))
  const settings = {
    tasks: '[]',
    'agents.listen': `127.0.0.1:${PORT}`,
    'agents.max_tokens': '512',
    'agents.rollout_seconds': '3600',
    'model.max_completion_tokens': '32',
    'rollout.group_size': flags.group,
    'training.method': 'lora',
    'training.own_groups': flags.batch,
    'training.learning_rate': flags.rate,
    'training.warm_up_steps': '0',
  }
  const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const node = await startNode(home, ['--no-swarm', '--model', model, '--seed', seed, ...set])
  const script = `scripts/agents/${flags.agent}.mjs`
  const agent = spawn(process.execPath, [script, flags.groups, flags.group, flags['held-out'], seed], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      WAGGLE_AGENTS: `http://127.0.0.1:${PORT}`,
      WAGGLE_AGENTS_TOKEN: readFileSync(join(home, 'agents.token'), 'utf8').trim(),
    },
  })
  const looks: Look[] = []
  const curve: Run['curve'] = []
  for await (const line of createInterface({ input: agent.stdout })) {
    console.log(line)
    const look = /held-out reward ([\d.]+), (\d+) of (\d+) solved/.exec(line)
    if (look) looks.push({ reward: Number(look[1]), solved: Number(look[2]), prompts: Number(look[3]) })
    const point = /^(\d+) s {2}(\d+) groups {2}reward ([\d.]+)/.exec(line)
    if (!point) continue
    const [seconds, groups, reward] = point.slice(1).map(Number) as [number, number, number]
    curve.push({ groups, step: (await node.snapshot()).training?.step ?? 0, seconds, reward })
  }
  await node.stop()
  rmSync(home, { recursive: true, force: true })
  const [before, after] = looks
  if (!before || !after) throw new Error(`${script} ended before its last look`)
  const name = model.split('/').at(-1)!
  return {
    ...{ agent: flags.agent, model: name, seed: Number(seed), settings, before, after, curve },
    load: Math.round(loadavg()[2]!),
  }
}

/** A table of all runs: looks, and the curve in ten parts. */
function show(): void {
  const lines = existsSync(flags.out) ? readFileSync(flags.out, 'utf8').trim().split('\n') : []
  for (const line of lines) {
    const { agent, model, seed, before, after, curve, load } = JSON.parse(line) as Run
    const { groups = 0, step = 0, seconds = 0 } = curve.at(-1) ?? {}
    console.log(
      `${agent}, ${model}, seed ${seed}: ${groups} groups, ${step} steps, ${seconds} s, load ${load}`,
    )
    for (const [when, look] of Object.entries({ before, after }))
      console.log(
        `  held-out ${when}: reward ${look.reward.toFixed(3)}, ${look.solved} of ${look.prompts} solved`,
      )
    const size = Math.ceil(curve.length / 10)
    for (let i = 0; i < curve.length; i += size) {
      const part = curve.slice(i, i + size)
      const mean = part.reduce((sum, { reward }) => sum + reward, 0) / part.length
      console.log(`  to step ${part.at(-1)!.step}: ${mean.toFixed(3)}`)
    }
  }
}

if (flags.show) show()
else {
  if (!flags.model)
    throw new Error('--model FILE: an instruct model, such as SmolLM2-135M-Instruct as a GGUF file')
  for (const seed of flags.seeds.split(','))
    appendFileSync(flags.out, `${JSON.stringify(await run(flags.model, seed))}\n`)
}
process.exit(0)
