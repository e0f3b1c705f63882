// Does an agent that calls tools learn by a change of URL? An agent of scripts/agents, trained by a node with its recipe as a
// user would: the node serves agents, the script gets its URL. One look at held-out prompts before and one after.
// `npm run -s lab:agent -- --model smollm2.gguf --arms calculator --seeds 1,2`. `--show` prints all runs.

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { calculator, shop } from '../../../daemon/config/recipes/agents.ts'
import { runExperiment } from '../frame/experiment.ts'
import type { Values } from '../frame/flags.ts'
import { markdown, mean } from '../frame/statistics.ts'
import { startNode } from '../nodes/process.ts'

const PORT = 4296
const AGENTS = { calculator, shop }
type Agent = keyof typeof AGENTS

/** One attempt at each held-out prompt, at the temperature of training. */
interface Look {
  reward: number
  solved: number
  prompts: number
}

interface Result {
  before: Look
  after: Look
  /** Means over the rewards of the groups since the last point. */
  curve: { groups: number; step: number; seconds: number; reward: number }[]
  /** Of the node, loading and both looks included; absent in the first runs. */
  processorSeconds?: number
  peakBytes?: number
  load: number
}

await runExperiment<Agent, Result>({
  question: 'How many held-out prompts does an agent solve before and after so many groups?',
  defaults: { arms: 'calculator', rates: '3e-4', seeds: '1', out: 'docs/results/agents.jsonl' },
  flags: {
    model: { type: 'string' },
    groups: { type: 'string', default: '48' },
    questions: { type: 'string', default: '48' },
  },
  settings: settingsOf,
  isComparable: ({ settings }, values) =>
    values.show === true || JSON.stringify(settings) === JSON.stringify(settingsOf(values)),
  arm(name) {
    if (!Object.hasOwn(AGENTS, name))
      throw new Error(`no arm "${name}"; there are ${Object.keys(AGENTS).join(', ')}`)
    return name as Agent
  },

  async play(agent, { rate, seed, values, log }) {
    const { model } = values
    if (typeof model !== 'string')
      throw new Error('--model FILE: an instruct model, such as SmolLM2-135M-Instruct as a GGUF file')
    const { groups, group, questions } = settingsOf(values)
    const home = mkdtempSync(join(tmpdir(), 'waggle-agent-'))
    const node = await startNode(home, [
      ...['--recipe', agent, '--no-swarm', '--model', model, '--seed', `${seed}`],
      ...['--set', `agents.listen=127.0.0.1:${PORT}`, '--set', `training.learning_rate=${rate}`],
    ])
    const numbers = [groups, group, questions, seed].map(String)
    const script = spawn(process.execPath, [`scripts/agents/${agent}.mjs`, ...numbers], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        WAGGLE_AGENTS: `http://127.0.0.1:${PORT}`,
        WAGGLE_AGENTS_TOKEN: readFileSync(join(home, 'agents.token'), 'utf8').trim(),
      },
    })
    const looks: Look[] = []
    const curve: Result['curve'] = []
    for await (const line of createInterface({ input: script.stdout })) {
      log(line)
      const look = /held-out reward ([\d.]+), (\d+) of (\d+) solved/.exec(line)
      if (look) looks.push({ reward: Number(look[1]), solved: Number(look[2]), prompts: Number(look[3]) })
      const point = /^(\d+) s {2}(\d+) groups {2}reward ([\d.]+)/.exec(line)
      if (!point) continue
      const [seconds, done, reward] = point.slice(1).map(Number) as [number, number, number]
      curve.push({ groups: done, step: (await node.snapshot()).training?.step ?? 0, seconds, reward })
    }
    const [processorSeconds, peakBytes] = [node.processorSeconds(), node.peakBytes()]
    await node.stop()
    rmSync(home, { recursive: true, force: true })
    const [before, after] = looks
    if (!before || !after) throw new Error(`${agent}.mjs ended before its last look`)
    return { before, after, curve, processorSeconds, peakBytes, load: Math.round(loadavg()[2]!) }
  },

  table: (runs) =>
    markdown(
      [
        'agent',
        'model',
        'seed',
        'groups',
        'steps',
        'seconds',
        'load',
        'before',
        'after',
        'rewards in tenths',
      ],
      runs.map(({ arm, settings, seed, before, after, curve, load }) => {
        const { groups = 0, step = 0, seconds = 0 } = curve.at(-1) ?? {}
        const size = Math.max(1, Math.ceil(curve.length / 10))
        const tenths = Array.from({ length: Math.ceil(curve.length / size) }, (_, i) =>
          mean(curve.slice(i * size, (i + 1) * size).map(({ reward }) => reward)).toFixed(2),
        )
        return [
          ...[arm, `${settings.model}`, `${seed}`, `${groups}`, `${step}`, `${seconds}`, `${load}`],
          ...[before, after].map(
            ({ reward, solved, prompts }) => `${reward.toFixed(2)}, ${solved} of ${prompts}`,
          ),
          tenths.join(' '),
        ]
      }),
    ),
})
process.exit(0)

function settingsOf({ model, groups, questions }: Values) {
  const {
    'rollout.group_size': group,
    'training.batch_groups': batch,
    'model.max_completion_tokens': length,
  } = calculator.values
  return {
    model: basename(String(model)),
    ...{ groups: Number(groups), group, batch, questions: Number(questions), length },
  }
}
