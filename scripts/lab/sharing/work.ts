// What sharing rollouts costs beside what it saves: tokens sampled and trained by a node to a held-out accuracy, alone
// over in a swarm, from the records of lab:sharing. `node --import tsx scripts/lab/sharing/work.ts [RECORDS]`
//
// Above 1, a node in a swarm does less. Seeds are paired. A run that never arrives counts at what it spent. Trained tokens
// are recorded at a run's end only, so they are spread evenly over its rounds.

import { type CostLook, costTo, ratioOf, showRatio } from '../frame/reach.ts'
import { openRecords } from '../frame/records.ts'
import { markdown } from '../frame/statistics.ts'

interface Run {
  setting: string
  arm: string
  rate: number
  seed: number
  nodes: number
  rounds: number
  looks: { round: number; tokens: number; sampled: number }[]
  trainedTokens: number
}

const { done } = await openRecords<Run>(process.argv[2] ?? 'docs/results/sharing.jsonl')

function looksOf({ looks, trainedTokens }: Run, countsTraining: boolean): CostLook[] {
  const trained = trainedTokens / looks.at(-1)!.round
  return looks.map(({ round, tokens, sampled }) => ({
    cost: countsTraining ? tokens + trained * round : tokens,
    accuracy: sampled,
  }))
}

function ratio(
  setting: string,
  nodes: number,
  rates: { alone: number; swarm: number },
  target: number,
  all: boolean,
) {
  const swarm = done.filter(
    (run) =>
      run.setting === setting &&
      run.arm === 'common-batch' &&
      run.nodes === nodes &&
      run.rate === rates.swarm &&
      run.rounds === 80 &&
      run.seed < 100,
  )
  return ratioOf(
    swarm.flatMap((run) => {
      const alone = done.find(
        ({ setting: s, arm, seed, rate, rounds }) =>
          s === setting && arm === 'alone' && seed === run.seed && rate === rates.alone && rounds === 80,
      )
      return alone
        ? [{ over: costTo(target, looksOf(alone, all)), under: costTo(target, looksOf(run, all)) }]
        : []
    }),
  )
}

console.log(
  markdown(
    ['setting', 'nodes', 'to', 'sampled, alone / swarm', 'sampled and trained, alone / swarm'],
    (
      [
        ['dense', 2, 0.15],
        ['dense', 4, 0.15],
        ['dense', 8, 0.15],
        ['dense', 8, 0.16],
        ['sparse', 8, 0.08],
      ] as const
    ).map(([setting, nodes, target]) => {
      const rates = setting === 'dense' ? { alone: 7e-5, swarm: 1e-4 } : { alone: 2e-4, swarm: 2e-4 }
      return [
        setting,
        String(nodes),
        String(target),
        ...[false, true].map((all) => showRatio(ratio(setting, nodes, rates, target, all))),
      ]
    }),
  ),
)
