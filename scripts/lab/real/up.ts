// What does `waggle up --model FILE` learn, as it comes? `npm run -s lab:up -- --model SmolLM2.gguf [--seeds 1,2,3]`
//
// One daemon with an empty home and all defaults, its own evaluations included, in no swarm. It is looked at after so many
// steps: it pauses, and answers held-out questions, which is not part of the cost. Seeds only number the runs.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runExperiment } from '../frame/experiment.ts'
import { markdown, show, summary } from '../frame/statistics.ts'
import { startNode } from '../nodes/process.ts'

interface Look {
  step: number
  /** Since the daemon began, loading and its own evaluations included, asked ones not. */
  processorSeconds: number
  seconds: number
  groups: number
  sampled: number
  greedy: number
  questions: number
}

await runExperiment<string, { looks: Look[] }>({
  question:
    'How many held-out questions does a pretrained model get right after `waggle up` with all defaults?',
  defaults: { arms: 'defaults', rates: '3e-4', seeds: '1', out: 'docs/results/up.jsonl' },
  flags: {
    model: { type: 'string' },
    steps: { type: 'string', default: '0,10,20,35' },
    questions: { type: 'string', default: '200' },
  },
  settings: ({ model, steps, questions }) => ({
    ...{ model: basename(String(model ?? '')), steps: String(steps), questions: Number(questions) },
  }),
  arm: (name) => name,

  async play(_, { values, log }) {
    if (!values.model) throw new Error('which model? --model FILE.gguf')
    const place = await mkdtemp(join(tmpdir(), 'waggle-up-'))
    const node = await startNode(place, ['--model', String(values.model), '--no-swarm'])
    const started = performance.now()
    const looks: Look[] = []
    let asked = { processor: 0, seconds: 0 }
    for (const wanted of String(values.steps).split(',').map(Number)) {
      let at = await node.snapshot()
      while ((at.training?.step ?? 0) < wanted) {
        await sleep(250)
        at = await node.snapshot()
      }
      await node.pause()
      const [before, since] = [node.processorSeconds(), performance.now()]
      const evaluation = await node.evaluate(Number(values.questions))
      looks.push({
        ...{ step: at.training?.step ?? 0, groups: at.rollouts?.generated ?? 0 },
        processorSeconds: before - asked.processor,
        seconds: (since - started) / 1000 - asked.seconds,
        sampled: evaluation.accuracy,
        greedy: evaluation.greedy?.accuracy ?? Number.NaN,
        questions: evaluation.prompts,
      })
      log(JSON.stringify(looks.at(-1)))
      asked = {
        processor: asked.processor + node.processorSeconds() - before,
        seconds: asked.seconds + (performance.now() - since) / 1000,
      }
      await node.resume()
    }
    await node.stop()
    await rm(place, { recursive: true })
    return { looks }
  },

  table(runs) {
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
  },
})
