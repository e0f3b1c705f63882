// How many groups until a node knows that a peer's tokens were not drawn by a policy like its own, and how often an honest peer is
// blamed? `npm run -s lab:typicality [-- --seeds 3 --versions 32 --groups 24 --out FILE]`
//
// Two nodes share for so many rounds (model of three tasks). Then the first one judges groups for new prompts: by its own and
// by the other's policy some versions ago, and by authors who cheat. Only groups with a signal count, as only those are shared. The
// tokens' places come from the engine, and the test is the daemon's. Runs, with the counts of every group, are kept in
// a file as they end; a call with the same file makes those that are missing.

import { parseArgs } from 'node:util'
import type { Weights } from '../../../daemon/engine/decoder.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import {
  EDGES,
  isUnlike,
  oddsOf,
  reasonOf,
  reviewed,
  uncalibrated,
  untested,
} from '../../../daemon/trainer/sharing/typicality.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { type Group, HELD_OUT_SEED, hasSignal, type Rollout } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { thisMachine } from '../frame/machine.ts'
import { openRecords } from '../frame/records.ts'
import { markdown, mean } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { MARK } from '../nodes/liars.ts'
import { createNode } from '../nodes/node.ts'
import { placeCounts } from '../nodes/place-counts.ts'
import { loadStart } from '../nodes/start.ts'
import { runRounds } from '../nodes/swarm.ts'
import { writeGroups } from '../nodes/write-groups.ts'

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    versions: { type: 'string', default: '32' },
    groups: { type: 'string', default: '24' },
    'learning-rate': { type: 'string', default: '1e-4' },
    out: { type: 'string', default: '.cache/experiments/typicality.jsonl' },
  },
})
const [versions, wanted, learningRate] = [flags.versions, flags.groups, flags['learning-rate']].map(
  Number,
) as [number, number, number]
const AGES = [0, 8, 32]

interface Run {
  seed: number
  versions: number
  learningRate: number
  arm: string
  isHonest: boolean
  /** Of each group with a signal: tokens by bin. */
  counts: number[][]
  /** Nats per token by which the sampler finds its tokens likelier than the judge does; absent if they were not sampled. */
  divergence?: number
  seconds: number
}

const { model, tasks: choice } = await loadStart('three-tasks')
const other = (await loadStart('default')).model
const { tokenizer } = model
const book = createTaskBook(TASKS, choice)
const records = await openRecords<Run>(flags.out)
const [judge, writer] = [createLocalEngine({ threads: 1 }), createLocalEngine({ threads: 1 })]

for (let seed = 1; seed <= Number(flags.seeds); seed++) {
  const isDone = (arm: string): boolean =>
    records.done.some(
      (run) =>
        run.seed === seed &&
        run.arm === arm &&
        run.versions === versions &&
        run.learningRate === learningRate,
    )
  let random = randomStream(seed, 'typicality')
  const policies: Weights[][] = [[], []]
  const learn = async (): Promise<void> => {
    const engines = [judge, writer]
    const nodes = await Promise.all(
      engines.map((engine, i) =>
        createNode({
          name: `node ${i}`,
          seed: 1000 * seed + i,
          model,
          engine,
          tasks: choice,
          own: 4,
          foreign: 4,
          adaptive: false,
          learningRate,
        }),
      ),
    )
    const keep = async (): Promise<void> => {
      for (const [i, engine] of engines.entries()) policies[i]!.push(await engine.weights())
    }
    await keep()
    await runRounds({ rounds: versions }, { nodes, onRound: keep })
  }
  const past = (node: number, age: number): Weights => policies[node]![versions - age]!

  /** Groups that are shared, of new prompts. */
  const write = async (
    by: Model,
    { rollouts = 8, temperature = 1, count = wanted } = {},
  ): Promise<Group[]> => {
    const found: Group[] = []
    for (let tries = 0; found.length < count && tries < 8; tries++) {
      const asks = Array.from({ length: count }, (_, i) => {
        const { task, difficulty } = book.chosen[i % book.chosen.length]!
        const at = Math.floor(random() * HELD_OUT_SEED)
        return { prompt: { task: task.name, taskVersion: task.version, seed: at, difficulty }, rollouts }
      })
      const { groups } = await writeGroups(
        {
          asks,
          policy: { lineage: by.digest, tokenizer: by.tokenizer.digest, version: 0 },
          author: 'peer',
          maxNewTokens: 96,
          temperature,
          sampleSeed: () => Math.floor(random() * 2 ** 32),
        },
        { sampler: writer, tokenizer: by.tokenizer, tasks: book },
      )
      found.push(...groups.filter(hasSignal))
    }
    return found.slice(0, count)
  }
  const rewritten = (rollout: Rollout, text: string): Rollout => {
    const { behaviourLogprobs: _, ...rest } = rollout
    return { ...rest, tokens: tokenizer.encodeCompletion(text, 'stop') }
  }
  const textOf = (rollout: Rollout, by = model): string => by.tokenizer.decodeCompletion(rollout.tokens)
  const likelihood = ({ behaviourLogprobs, tokens }: Rollout): number =>
    mean([...(behaviourLogprobs ?? [])]) || -tokens.length
  const instanceOf = ({ prompt }: Group) => {
    const { task, difficulty } = book.chosen.find(({ task }) => task.name === prompt.task)!
    return task.generate({ seed: prompt.seed, difficulty })
  }
  const picked = (groups: Group[], pick: (rollouts: Rollout[]) => Rollout[]): Group[] =>
    groups.map((group) => ({ ...group, rollouts: pick([...group.rollouts]) })).filter(hasSignal)
  const sampleAs = async (weights: Weights, of = model): Promise<void> => {
    await writer.open({ spec: of.spec, weights: of === model ? { ...model.weights, ...weights } : weights })
  }

  const current = (): Promise<void> => sampleAs(past(0, 0))
  const ARMS: Record<string, () => Promise<Group[]>> = {
    ...Object.fromEntries(
      ['own policy', 'honest peer'].flatMap((who, node) =>
        AGES.map((age) => [
          `${who}, ${age} versions ago`,
          async () => {
            await sampleAs(past(node, age))
            return write(model)
          },
        ]),
      ),
    ),
    'sampled at temperature 0.7': async () => {
      await current()
      return write(model, { temperature: 0.7 })
    },
    'sampled at 0.7 and 1.4 in turn': async () => {
      await current()
      const cold = await write(model, { temperature: 0.7, count: wanted / 2 })
      const hot = await write(model, { temperature: 1.4, count: wanted / 2 })
      return cold.flatMap((group, i) => [group, ...hot.slice(i, i + 1)])
    },
    'the 8 likeliest of 32': async () => {
      await current()
      const pick = (all: Rollout[]) => all.sort((a, b) => likelihood(b) - likelihood(a)).slice(0, 8)
      return picked(await write(model, { rollouts: 32 }), pick)
    },
    'the shortest right and longest wrong of 32': async () => {
      await current()
      return picked(await write(model, { rollouts: 32 }), (all) => {
        const sorted = all.sort((a, b) => a.tokens.length - b.tokens.length)
        const isRight = ({ reward }: Rollout): boolean => reward > 0.5
        return [...sorted.filter(isRight).slice(0, 4), ...sorted.filter((one) => !isRight(one)).slice(-4)]
      })
    },
    'a mark before right answers': async () => {
      await current()
      return picked(await write(model), (all) =>
        all.map((one, i) => (one.reward > 0.5 ? rewritten(one, `${MARK} ${i}\n${textOf(one)}`) : one)),
      )
    },
    'one word before right answers': async () => {
      await current()
      return picked(await write(model), (all) =>
        all.map((one) => (one.reward > 0.5 ? rewritten(one, `So ${textOf(one)}`) : one)),
      )
    },
    'answers made by a program': async () => {
      await current()
      return (await write(model)).map((group) => ({
        ...group,
        rollouts: group.rollouts.map((one, i) => {
          const instance = instanceOf(group)
          const key = i < 4 ? instance.key : `${instance.key}${i}`
          return rewritten(one, answerIn(i % 2 === 0 ? 'worked' : 'bare', { ...instance, key }))
        }),
      }))
    },
    'text of another model': async () => {
      await sampleAs(other.weights, other)
      return (await write(other)).map((group) => ({
        ...group,
        conditioning: tokenizer.encodePrompt(instanceOf(group).question),
        rollouts: group.rollouts.map((one) => rewritten(one, textOf(one, other))),
      }))
    },
  }

  const arms = Object.keys(ARMS).filter((arm) => !isDone(arm))
  if (arms.length > 0) await learn()
  for (const arm of arms) {
    const started = performance.now()
    random = randomStream(seed, `typicality/${arm}`)
    const counts: number[][] = []
    const gaps: number[] = []
    for (const { conditioning, rollouts } of await ARMS[arm]!()) {
      const written = rollouts.filter(({ tokens }) => tokens.length > 0)
      const scores = await judge.score({
        sequences: written.map(({ tokens }) => ({ conditioning, completion: tokens })),
        temperature: 1,
        places: true,
      })
      scores.forEach(({ logprobs }, i) => {
        const said = written[i]!.behaviourLogprobs
        if (said) logprobs.forEach((logprob, t) => void gaps.push(said[t]! - logprob))
      })
      counts.push(placeCounts(scores, random))
    }
    const seconds = (performance.now() - started) / 1000
    const isHonest = /own policy|honest peer/.test(arm)
    const divergence = isHonest || arm.startsWith('sampled') ? { divergence: mean(gaps) } : {}
    await records.add({ seed, versions, learningRate, arm, isHonest, counts, ...divergence, seconds })
    process.stderr.write(`seed ${seed}, ${arm}: ${counts.length} groups, ${seconds.toFixed(0)} s\n`)
  }
}
await judge.close()
await writer.close()

/** Groups until the verdict, as one group an update; `undefined` if the run has too few. */
function until(verdict: 'guide' | 'twin', counts: readonly number[][]): number | undefined {
  const odds = oddsOf(uncalibrated())
  let state = untested()
  const at = counts.findIndex((one) => {
    state = reviewed(state, { counts: one }, odds)
    return state.likeness === verdict
  })
  return at < 0 ? undefined : at + 1
}

const chosen = records.done.filter((run) => run.versions === versions && run.learningRate === learningRate)
const shown = (counts: (number | undefined)[]): string => counts.map((count) => count ?? 'not').join(', ')
console.log(
  `${thisMachine()}; ${versions} versions, learning rate ${learningRate}, ${wanted} groups an arm and seed`,
)
console.log(
  markdown(
    [
      'groups by',
      'tokens a group',
      'in doubt',
      'nats a token',
      'left out by themselves',
      'groups to "guide", by seed',
      'to "twin"',
      'as',
    ],
    [...new Set(chosen.map(({ arm }) => arm))].map((arm) => {
      const runs = chosen.filter((run) => run.arm === arm)
      const tokens = runs.flatMap(({ counts }) => counts)
      const total = (bins: readonly number[]): number => bins.reduce((a, b) => a + b, 0)
      const divergences = runs.flatMap(({ divergence }) => divergence ?? [])
      const found = runs.map(({ counts }) => until('guide', counts))
      const [odds, all] = [oddsOf(uncalibrated()), tokens]
      const end = all.reduce((state, counts) => reviewed(state, { counts }, odds), untested())
      return [
        arm,
        mean(tokens.map(total)).toFixed(0),
        `${((100 * mean(tokens.map((bins) => total(bins.slice(0, EDGES.length))))) / mean(tokens.map(total))).toFixed(0)} %`,
        divergences.length > 0 ? mean(divergences).toFixed(4) : '',
        `${tokens.filter((counts) => isUnlike({ counts }, odds)).length} of ${tokens.length}`,
        shown(found),
        shown(runs.map(({ counts }) => until('twin', counts))),
        found.some((count) => count !== undefined) ? reasonOf(end) : '',
      ]
    }),
  ),
)
