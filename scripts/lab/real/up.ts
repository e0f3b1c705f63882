// What does a recipe reach? `npm run -s lab:up -- --arms sorting --model SmolLM2.gguf [--seeds 1,2,3 --device webgpu]`
//
// `waggle up --recipe NAME`: one daemon with an empty home, its own evaluations included, in no swarm. It is looked at
// after so many steps: it pauses, and answers held-out questions, which is not part of the cost. Seeds only number the
// runs.
//
// `--check --out .cache/nightly.jsonl` looks at the steps of the recipe's own looks and fails where a run is outside the
// band of the recorded ones, as every twentieth look is by chance.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import {
  isRecipe,
  RECIPE_NAMES,
  RECIPES,
  type Recipe,
  type RecipeName,
} from '../../../daemon/config/recipes/index.ts'
import { bandAt, bandText } from '../../../protocol/api/text/recipe-text.ts'
import { type Run, runExperiment } from '../frame/experiment.ts'
import { markdown, show, summary } from '../frame/statistics.ts'
import { startNode } from '../nodes/process.ts'
import { type DaemonLook, lookAt } from './looks.ts'

interface Result {
  parameters: number
  peakBytes: number
  looks: DaemonLook[]
}

await runExperiment<RecipeName, Result>({
  question: 'How many held-out questions does a model get right after so many steps of a recipe?',
  defaults: { arms: 'sorting', rates: '0', seeds: '1', out: 'docs/results/up.jsonl' },
  flags: {
    model: { type: 'string' },
    steps: { type: 'string', default: '0,10,20,35' },
    questions: { type: 'string', default: '200' },
    device: { type: 'string' },
    check: { type: 'boolean' },
  },
  settings: ({ model, steps, questions, device, check }) => ({
    model: basename(String(model ?? '')),
    ...(device === undefined ? {} : { device: String(device) }),
    // A check is never done already.
    ...(check ? { checked: new Date().toISOString() } : { steps: String(steps) }),
    questions: Number(questions),
  }),
  arm(name) {
    if (!isRecipe(name)) throw new Error(`no recipe "${name}"; there are ${RECIPE_NAMES.join(', ')}`)
    return name
  },

  async play(name, { values, log }) {
    const { model, looks: recorded }: Recipe = RECIPES[name]
    if (model && !values.model) throw new Error(`which model? --model FILE: ${model}`)
    const place = await mkdtemp(join(tmpdir(), 'waggle-up-'))
    const node = await startNode(place, [
      ...['--recipe', name, '--no-swarm'],
      ...(model ? ['--model', String(values.model)] : []),
      ...(values.device ? ['--device', String(values.device)] : []),
    ])
    const looks = await lookAt(node, {
      steps: values.check ? recorded.map(({ step }) => step) : String(values.steps).split(',').map(Number),
      questions: Number(values.questions),
      log,
    })
    const parameters = (await node.snapshot()).model!.parameters!
    const peakBytes = node.peakBytes()
    await node.stop()
    await rm(place, { recursive: true })
    if (values.check) check(name, looks)
    return { parameters, peakBytes, looks }
  },

  table: (runs) =>
    [...new Set(runs.map(({ arm }) => arm))]
      .map((arm) => `${arm}\n\n${tableOf(runs.filter((run) => run.arm === arm))}`)
      .join('\n\n'),
})

function check(name: RecipeName, looks: readonly DaemonLook[]): void {
  for (const { step, sampled, questions } of looks) {
    const band = bandAt(RECIPES[name].looks, step, questions)
    if (band && (sampled < band.low || sampled > band.high))
      throw new Error(
        `${name}: ${(100 * sampled).toFixed(1)} % at step ${step}, recorded runs had ${bandText(band)}`,
      )
  }
}

function tableOf(runs: readonly Run<Result>[]): string {
  const rows = (runs[0]?.looks ?? []).map((_, i) => {
    const looks = runs.flatMap(({ looks }) => looks[i] ?? [])
    const percent = (values: number[]): string =>
      `${values.map((value) => (100 * value).toFixed(0)).join(', ')} (${show(summary(values))})`
    return [
      looks.map(({ step }) => step).join(', '),
      percent(looks.map(({ sampled }) => sampled)),
      percent(looks.map(({ greedy }) => greedy)),
      looks.map(({ groups }) => groups).join(', '),
      looks.map(({ seconds }) => seconds.toFixed(0)).join(', '),
      looks.map(({ processorSeconds }) => processorSeconds.toFixed(0)).join(', '),
    ]
  })
  return markdown(['step', 'sampled, %', 'greedy, %', 'own groups', 'seconds', 'processor seconds'], rows)
}
