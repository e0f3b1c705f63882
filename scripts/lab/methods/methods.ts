// Which method learns most from the same number of sampled tokens?
// `npm run -s lab:methods [-- --arms grpo,rloo,grpo+clip+success_nll --tokens 40000 --seeds 1,2,3]`
//
// A node alone, with the model of three tasks and the library's rounds, learns one task until it has sampled so many
// tokens, those for plugins included. An arm is plugins joined by +, with settings after colons: `rloo+clip:low=0.16`,
// `scope_like`, `dots`. Those of a kind replace the default of that kind. The first arm is what the others are compared
// with, seed by seed. `--lag N` learns from rollouts that are N versions old, `--set N` from N recurring prompts.

import type { Engine } from '../../../daemon/engine/engine.ts'
import type { PluginChoice } from '../../../daemon/host/load.ts'
import { candidatePrompts } from '../../../daemon/rollout/candidates.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { PLUGINS, TASKS } from '../../../daemon/wiring/built-in.ts'
import type { PluginKind } from '../../../protocol/plugin/index.ts'
import { type Run, runExperiment } from '../frame/experiment.ts'
import type { Values } from '../frame/flags.ts'
import { markdown, mean, percent, questionsOf, show, summary } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { late } from '../nodes/late.ts'
import { createNode } from '../nodes/node.ts'
import { loadStart } from '../nodes/start.ts'

interface Result {
  questions: number
  /** Held-out accuracy at temperature 1, and greedy. */
  sampled: number
  greedy: number
  updates: number
  /** Share of groups whose rewards differ. */
  signal: number
}

const NUMBERS = {
  ...{ tokens: '40000', level: '1', size: '8', rollouts: '32', lag: '0', minibatches: '1' },
  ...{ set: '0', prompts: '150', length: '64' },
}
const { model } = await loadStart('three-tasks')
const engines: Engine[] = []
const engineOf = (i: number): Engine => {
  engines[i] ??= createLocalEngine({ threads: 1 })
  return engines[i]
}

await runExperiment<PluginChoice[], Result>({
  question: 'Does a method end with a higher held-out accuracy than the first arm, at equal sampled tokens?',
  defaults: {
    ...{ arms: 'grpo,rloo,reinforce_plus_plus', rates: '1e-4', seeds: '1,2,3' },
    out: '.cache/experiments/methods.jsonl',
  },
  flags: {
    task: { type: 'string', default: 'basic_arithmetic' },
    ...Object.fromEntries(
      Object.entries(NUMBERS).map(([name, value]) => [name, { type: 'string', default: value } as const]),
    ),
  },
  settings: (values) => ({ task: values.task, ...numbersOf(values) }),
  arm: (name) => name.split('+').map(choiceOf),

  async play(choices, { rate, seed, values, meter }) {
    const { tokens, level, size, rollouts, lag, minibatches, set, prompts, length } = numbersOf(values)
    const tasks = [{ name: String(values.task), difficulty: level }]
    const of = (kind: PluginKind): PluginChoice[] => choices.filter(({ use }) => kindOf(use) === kind)
    const [corrections, [estimator], [selector]] = [of('correction'), of('estimator'), of('selector')]
    const node = await createNode({
      ...{ name: 'alone', seed, model, tasks, minibatches, groupSize: size, maxNewTokens: length },
      ...{ own: Math.max(1, Math.round(rollouts / size)), foreign: 0, adaptive: false, learningRate: rate },
      ...(corrections.length > 0 && { corrections }),
      plugins: {
        ...(estimator && { estimator }),
        ...(selector && { selector }),
        ...{ hints: of('hint'), replay: of('replay'), skills: of('skill'), controls: of('control') },
      },
      ...(set > 0 && { candidates: candidatePrompts(createTaskBook(TASKS, tasks).view, set, 1) }),
      engine: engineOf(0),
      ...(lag > 0 && { sampler: late(engineOf(1), lag), maxStaleness: lag + 8 }),
    })
    const signals: number[] = []
    let updates = 0
    while (node.compute.generated < tokens) {
      const { taught, groups, step } = await meter.part('rounds', () => node.round())
      signals.push(taught.length / Math.max(1, groups))
      updates += step?.steps ?? 0
    }
    const { questions, sampled, greedy } = await meter.part('look', () => node.evaluate(prompts))
    return { questions, sampled, greedy, updates, signal: mean(signals) }
  },

  table(runs) {
    const arms = [...new Set(runs.map(({ arm, rate }) => `${arm} ${rate}`))]
    const of = (key: string): Run<Result>[] => runs.filter(({ arm, rate }) => `${arm} ${rate}` === key)
    const base = of(arms[0] ?? '')
    return `${questionsOf(runs)}\n\n${markdown(
      [
        'arm',
        'rate',
        'seeds',
        'updates',
        'groups with a signal',
        'held-out',
        'greedy',
        'more than the first',
      ],
      arms.map((key, i) => {
        const some = of(key)
        const gains = some.flatMap((run) => {
          const first = base.find(({ seed }) => seed === run.seed)
          return first && i > 0 ? [run.sampled - first.sampled] : []
        })
        return [
          ...[some[0]!.arm, `${some[0]!.rate}`, some.map(({ seed }) => seed).join(' ')],
          mean(some.map(({ updates }) => updates)).toFixed(0),
          percent(mean(some.map(({ signal }) => signal))),
          ...(['sampled', 'greedy'] as const).map((what) => show(summary(some.map((run) => run[what])))),
          gains.length > 0 ? show(summary(gains)) : '',
        ]
      }),
    )}`
  },
})
for (const engine of engines) await engine?.close()

function numbersOf(values: Values): Record<keyof typeof NUMBERS, number> {
  return Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, Number(values[name])])) as Record<
    keyof typeof NUMBERS,
    number
  >
}

function kindOf(use: string): PluginKind {
  const plugin = PLUGINS.find(({ name }) => name === use)
  if (!plugin) throw new Error(`no plugin "${use}"; \`waggle plugins list\` names them`)
  return plugin.kind
}

/** `name:key=value:key=value`. A value is JSON if it can be read as such. */
function choiceOf(text: string): PluginChoice {
  const [use = '', ...settings] = text.split(':')
  kindOf(use)
  return {
    use,
    ...Object.fromEntries(
      settings.map((one) => {
        const [key = '', value = ''] = one.split('=')
        try {
          return [key, JSON.parse(value)]
        } catch {
          return [key, value]
        }
      }),
    ),
  }
}
