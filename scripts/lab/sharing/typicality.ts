// How many groups until a node knows that a peer's tokens were not drawn by a policy like its own, and how often an
// honest peer is blamed? `npm run -s lab:typicality [-- --seeds 1 --versions 32 --groups 16]`
//
// Two nodes share for so many rounds (model of three tasks). Then the first one judges groups for new prompts: by its own
// and by the other's policy some versions ago, and by authors who cheat. Only groups with a signal count, as only those
// are shared. The tokens' places come from the engine, and the test is the daemon's.

import type { Weights } from '../../../daemon/engine/weights.ts'
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
import type { Random } from '../../../protocol/plugin/index.ts'
import { type Group, HELD_OUT_SEED, hasSignal, type Rollout } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { runExperiment } from '../frame/experiment.ts'
import { markdown, mean } from '../frame/statistics.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { MARK } from '../nodes/liars.ts'
import { createNode } from '../nodes/node.ts'
import { placeCounts } from '../nodes/place-counts.ts'
import { loadStart } from '../nodes/start.ts'
import { runRounds } from '../nodes/swarm.ts'
import { writeGroups } from '../nodes/write-groups.ts'

interface Result {
  isHonest: boolean
  /** Of each group with a signal: tokens by bin. */
  counts: number[][]
  /** Nats per token by which the sampler finds its tokens likelier than the judge does; absent if they were not sampled. */
  divergence?: number
}

/** What an arm writes its groups with. */
interface Author {
  wanted: number
  random: Random
  /** Puts the weights that a node had so many versions ago, or another model, into the writing engine. */
  become(node: number, age: number): Promise<void>
  becomeOther(): Promise<void>
  write(options?: { rollouts?: number; temperature?: number; count?: number; by?: Model }): Promise<Group[]>
}
type Arm = (author: Author) => Promise<Group[]>

const { model, tasks } = await loadStart('three-tasks')
const other = (await loadStart('default')).model
const { tokenizer } = model
const book = createTaskBook(TASKS, tasks)
const [judge, writer] = [createLocalEngine({ threads: 1 }), createLocalEngine({ threads: 1 })]

const textOf = (rollout: Rollout, by = model): string => by.tokenizer.decodeCompletion(rollout.tokens)
const isRight = ({ reward }: Rollout): boolean => reward > 0.5
const rewritten = (rollout: Rollout, text: string): Rollout => {
  const { behaviourLogprobs: _, ...rest } = rollout
  return { ...rest, tokens: tokenizer.encodeCompletion(text, 'stop') }
}
const likelihood = ({ behaviourLogprobs, tokens }: Rollout): number =>
  mean([...(behaviourLogprobs ?? [])]) || -tokens.length
const instanceOf = ({ prompt }: Group) => {
  const { task, difficulty } = book.chosen.find(({ task }) => task.name === prompt.task)!
  return task.generate({ seed: prompt.seed, difficulty })
}
/** Groups of the present policy, whose rollouts are chosen or changed. */
const picked =
  (pick: (rollouts: Rollout[], group: Group) => Rollout[], rollouts = 8): Arm =>
  async ({ become, write }) => {
    await become(0, 0)
    return (await write({ rollouts }))
      .map((group) => ({ ...group, rollouts: pick([...group.rollouts], group) }))
      .filter(hasSignal)
  }
const ago =
  (node: number, age: number): Arm =>
  async ({ become, write }) => {
    await become(node, age)
    return write()
  }
const ARMS: Readonly<Record<string, Arm>> = {
  'own policy, 0 versions ago': ago(0, 0),
  'own policy, 8 versions ago': ago(0, 8),
  'own policy, 32 versions ago': ago(0, 32),
  'honest peer, 0 versions ago': ago(1, 0),
  'honest peer, 8 versions ago': ago(1, 8),
  'honest peer, 32 versions ago': ago(1, 32),
  'sampled at temperature 0.7': async ({ become, write }) => {
    await become(0, 0)
    return write({ temperature: 0.7 })
  },
  'sampled at 0.7 and 1.4 in turn': async ({ become, write, wanted }) => {
    await become(0, 0)
    const cold = await write({ temperature: 0.7, count: wanted / 2 })
    const hot = await write({ temperature: 1.4, count: wanted / 2 })
    return cold.flatMap((group, i) => [group, ...hot.slice(i, i + 1)])
  },
  'the 8 likeliest of 32': picked((all) => all.sort((a, b) => likelihood(b) - likelihood(a)).slice(0, 8), 32),
  'the shortest right and longest wrong of 32': picked((all) => {
    const sorted = all.sort((a, b) => a.tokens.length - b.tokens.length)
    return [...sorted.filter(isRight).slice(0, 4), ...sorted.filter((one) => !isRight(one)).slice(-4)]
  }, 32),
  'a mark before right answers': picked((all) =>
    all.map((one, i) => (isRight(one) ? rewritten(one, `${MARK} ${i}\n${textOf(one)}`) : one)),
  ),
  'one word before right answers': picked((all) =>
    all.map((one) => (isRight(one) ? rewritten(one, `So ${textOf(one)}`) : one)),
  ),
  'answers made by a program': picked((all, group) =>
    all.map((one, i) => {
      const instance = instanceOf(group)
      const key = i < 4 ? instance.key : `${instance.key}${i}`
      return rewritten(one, answerIn(i % 2 === 0 ? 'worked' : 'bare', { ...instance, key }))
    }),
  ),
  'text of another model': async ({ becomeOther, write }) => {
    await becomeOther()
    return (await write({ by: other })).map((group) => ({
      ...group,
      conditioning: tokenizer.encodePrompt(instanceOf(group).question),
      rollouts: group.rollouts.map((one) => rewritten(one, textOf(one, other))),
    }))
  },
}

/** Weights of both nodes after each round. The judge holds the last ones. */
let learnt: { key: string; policies: Weights[][] } | undefined
async function learn(seed: number, versions: number, learningRate: number): Promise<Weights[][]> {
  const engines = [judge, writer]
  const nodes = await Promise.all(
    engines.map((engine, i) =>
      createNode({
        ...{ name: `node ${i}`, seed: 1000 * seed + i, model, engine, tasks },
        ...{ own: 4, foreign: 4, adaptive: false, learningRate },
      }),
    ),
  )
  const policies: Weights[][] = [[], []]
  const keep = async (): Promise<void> => {
    for (const [i, engine] of engines.entries()) policies[i]!.push(await engine.weights())
  }
  await keep()
  await runRounds({ rounds: versions }, { nodes, onRound: keep })
  return policies
}

await runExperiment<Arm, Result>({
  question:
    'After how many groups is an author known for a twin or a guide, and is an honest one ever a guide?',
  defaults: {
    ...{ arms: Object.keys(ARMS).join(';'), rates: '1e-4', seeds: '1,2,3' },
    out: 'docs/results/typicality.jsonl',
  },
  flags: {
    versions: { type: 'string', default: '32' },
    groups: { type: 'string', default: '24' },
  },
  settings: ({ versions }) => ({ versions: Number(versions) }),
  arm(name) {
    const arm = ARMS[name]
    if (!arm) throw new Error(`no arm "${name}"; there are ${Object.keys(ARMS).join('; ')}`)
    return arm
  },

  async play(arm, { name, rate, seed, values, meter }) {
    const [versions, wanted] = [Number(values.versions), Number(values.groups)]
    const key = `${seed} ${versions} ${rate}`
    if (learnt?.key !== key)
      learnt = { key, policies: await meter.part('learn', () => learn(seed, versions, rate)) }
    const { policies } = learnt
    const random = randomStream(seed, `typicality/${name}`)
    const open = (of: Model, weights: Weights): Promise<void> => writer.open({ spec: of.spec, weights })
    const groups = await meter.part('write', () =>
      arm({
        ...{ wanted, random },
        become: (node, age) => open(model, { ...model.weights, ...policies[node]![versions - age]! }),
        becomeOther: () => open(other, other.weights),
        write: (options) => write({ count: wanted, ...options }, random),
      }),
    )
    const { counts, gaps } = await meter.part('judge', () => judged(groups, random))
    const isHonest = /own policy|honest peer/.test(name)
    return { isHonest, counts, ...((isHonest || name.startsWith('sampled')) && { divergence: mean(gaps) }) }
  },

  table(runs) {
    const odds = oddsOf(uncalibrated())
    const shown = (counts: (number | undefined)[]): string => counts.map((count) => count ?? 'not').join(', ')
    const total = (bins: readonly number[]): number => bins.reduce((a, b) => a + b, 0)
    return markdown(
      [
        ...['groups by', 'tokens a group', 'in doubt', 'nats a token', 'left out by themselves'],
        ...['groups to "guide", by seed', 'to "twin"', 'as'],
      ],
      [...new Set(runs.map(({ arm }) => arm))].map((name) => {
        const some = runs.filter(({ arm }) => arm === name)
        const tokens = some.flatMap(({ counts }) => counts)
        const divergences = some.flatMap(({ divergence }) => divergence ?? [])
        const found = some.map(({ counts }) => until('mismatched', counts))
        const end = tokens.reduce((state, counts) => reviewed(state, { counts }, odds), untested())
        const doubted = mean(tokens.map((bins) => total(bins.slice(0, EDGES.length))))
        return [
          name,
          mean(tokens.map(total)).toFixed(0),
          `${((100 * doubted) / mean(tokens.map(total))).toFixed(0)} %`,
          divergences.length > 0 ? mean(divergences).toFixed(4) : '',
          `${tokens.filter((counts) => isUnlike({ counts }, odds)).length} of ${tokens.length}`,
          shown(found),
          shown(some.map(({ counts }) => until('matched', counts))),
          found.some((count) => count !== undefined) ? reasonOf(end) : '',
        ]
      }),
    )
  },
})
await judge.close()
await writer.close()

/** Groups that are shared, of new prompts. */
async function write(
  { rollouts = 8, temperature = 1, count, by = model }: Parameters<Author['write']>[0] & { count: number },
  random: Random,
): Promise<Group[]> {
  const found: Group[] = []
  for (let tries = 0; found.length < count && tries < 8; tries++) {
    const asks = Array.from({ length: count }, (_, i) => {
      const { task, difficulty } = book.chosen[i % book.chosen.length]!
      const at = Math.floor(random() * HELD_OUT_SEED)
      return { prompt: { task: task.name, taskVersion: task.version, seed: at, difficulty }, rollouts }
    })
    const policy = { lineage: by.digest, tokenizer: by.tokenizer.digest, version: 0 }
    const sampleSeed = (): number => Math.floor(random() * 2 ** 32)
    const { groups } = await writeGroups(
      { asks, policy, author: 'peer', maxNewTokens: 96, temperature, sampleSeed },
      { sampler: writer, tokenizer: by.tokenizer, tasks: book },
    )
    found.push(...groups.filter(hasSignal))
  }
  return found.slice(0, count)
}

async function judged(
  groups: readonly Group[],
  random: Random,
): Promise<{ counts: number[][]; gaps: number[] }> {
  const [counts, gaps]: [number[][], number[]] = [[], []]
  for (const { conditioning, rollouts } of groups) {
    const written = rollouts.filter(({ tokens }) => tokens.length > 0)
    const scores = await judge.score({
      sequences: written.map(({ tokens }) => ({ conditioning, completion: tokens })),
      ...{ temperature: 1, pit: true },
    })
    scores.forEach(({ logprobs }, i) => {
      const said = written[i]!.behaviourLogprobs
      if (said) logprobs.forEach((logprob, t) => void gaps.push(said[t]! - logprob))
    })
    counts.push(placeCounts(scores, random))
  }
  return { counts, gaps }
}

/** Groups until the verdict, as one group an update; `undefined` if the run has too few. */
function until(verdict: 'mismatched' | 'matched', counts: readonly number[][]): number | undefined {
  const odds = oddsOf(uncalibrated())
  let state = untested()
  const at = counts.findIndex((one) => {
    state = reviewed(state, { counts: one }, odds)
    return state.likeness === verdict
  })
  return at < 0 ? undefined : at + 1
}
