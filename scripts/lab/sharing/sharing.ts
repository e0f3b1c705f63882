// Is a swarm worth joining? Own sampled tokens to the same held-out accuracy, alone and with peers.
// `npm run -s lab:sharing [-- --setting dense --nodes 8 --arms alone,bound,common-batch --rates 1e-4 --seeds 1,2,3]`
//
// Nodes in one process, each with the model of three tasks, with one that seldom puts an answer between tags (`--setting
// sparse`), or with an adapter on a pretrained one (`--setting real --model FILE.gguf`). In every round each answers
// `--own` prompts, 8 answers each, and makes one optimizer step. Arms:
//   alone         one node that hears of nobody, for four times as many rounds
//   bound         one node that answers as many prompts as the whole swarm: what honest twins can bring at most
//   common-batch  the swarm; every node may train on all groups of its peers
//   …+trust       the same where every user vouches for all peers, so that nothing is held back
//   …+LIARS@75    the swarm with three quarters of its nodes lying (half without a figure). Figures are of the honest
//                 ones, and `marked` is the share of held-out answers with the liars' mark. LIARS: `liars` for all the ways of
//                 liars.ts by turns, or one of these; `adaptive` for adaptive-liar.ts
// Held-out accuracy (sampled, at temperature 1) is looked at every `--every` rounds on two nodes, and smoothed over three
// looks. `--target` is the accuracy that arms are compared at. An arm's learning rate is chosen on seeds above 100
// (`--seeds 101,102 --rates ...`), and its results are those of seeds below: pass the chosen ones as `--rates`, one for
// all arms or one an arm as in `alone=5e-5,bound=1e-4`.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { createTaskBook } from '../../../daemon/rollout/tasks.ts'
import { type Played, runExperiment } from '../frame/experiment.ts'
import { mean } from '../frame/statistics.ts'
import { createAdaptiveLiar } from '../nodes/adaptive-liar.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { createLiar, LIES, type Liar, type Lie, MARK } from '../nodes/liars.ts'
import { createNode, type ExperimentNode } from '../nodes/node.ts'
import { runRounds } from '../nodes/swarm.ts'
import type { Look } from './by-tokens.ts'
import { type Start, startOf } from './settings.ts'
import { type SharingRun, sharingTable } from './table.ts'

interface Arm {
  nodes: number
  own: number
  foreign: number
  rounds: number
  trusts: boolean
  liars: number
  lies: readonly (Lie | 'adaptive')[]
}

interface Settings {
  setting: string
  nodes: number
  own: number
  rounds: number
}

interface Result extends Settings, Omit<SharingRun, 'arm' | 'rate' | 'seed'> {
  questions: number
  /** Share of own groups with a signal. */
  signal: number
  /** Marked answers that adaptive liars could send. */
  planted?: number
  /** Of a node: tokens sampled, and tokens trained on. */
  sampledTokens: number
  trainedTokens: number
}

let start: Start | undefined
const engines: Engine[] = []
const engineOf = (i: number): Engine => {
  engines[i] ??= createLocalEngine({ threads: 1 })
  return engines[i]
}
/** Holds the base model, which liars score their texts with. */
let liarEngine: Engine | undefined

await runExperiment<Arm, Result>({
  question:
    'How many own sampled tokens does a node need to the same held-out accuracy, alone and with peers?',
  defaults: {
    ...{ arms: 'alone,bound,common-batch', rates: '1e-4', seeds: '1,2,3,4,5' },
    out: 'docs/results/sharing.jsonl',
  },
  flags: {
    setting: { type: 'string', default: 'dense' },
    /** A pretrained model as a GGUF file, for the setting `real`. */
    model: { type: 'string' },
    nodes: { type: 'string', default: '8' },
    own: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '60' },
    every: { type: 'string', default: '5' },
    target: { type: 'string' },
    prompts: { type: 'string', default: '200' },
  },
  settings: (values) => ({ ...settingsOf(values) }),
  isComparable({ arm, setting, nodes, own, rounds }, values) {
    const now = settingsOf(values)
    if (setting !== now.setting || own !== now.own) return false
    // A node alone is the same whatever the swarm that it is compared with.
    return (nodes === now.nodes && rounds === now.rounds) || (arm === 'alone' && rounds >= now.rounds)
  },
  arm: (name, values) => armOf(name, settingsOf(values)),

  async play(arm, run) {
    const settings = settingsOf(run.values)
    start ??= await startOf(settings.setting, run.values.model as string | undefined)
    return { ...settings, ...(await play(arm, run, { start, rounds: settings.rounds })) }
  },

  table: (runs, { target }) => sharingTable(runs, target === undefined ? undefined : Number(target)),
})
for (const engine of [...engines, liarEngine]) await engine?.close()

function settingsOf({ setting, nodes, own, rounds }: Played['values']): Settings {
  return { setting: String(setting), nodes: Number(nodes), own: Number(own), rounds: Number(rounds) }
}

function armOf(name: string, { nodes, own, rounds }: Settings): Arm {
  const alone = { nodes: 1, own, foreign: 0, rounds, trusts: false, liars: 0, lies: [] }
  if (name === 'alone') return { ...alone, rounds: 4 * rounds }
  if (name === 'bound') return { ...alone, own: nodes * own }
  const [base, among = ''] = name.split('+')
  const [kind = '', percent = '50'] = among.split('@')
  const lies = kind === 'liars' ? LIES : kind === '' || kind === 'trust' ? [] : [kind as Lie]
  const isKnown = lies.every((lie) => [...LIES, 'adaptive'].includes(lie))
  if (base !== 'common-batch' || !isKnown)
    throw new Error(
      `no arm "${name}"; there are alone, bound and common-batch, which may be followed by +trust or by +liars, +${LIES.join(', +')} or +adaptive and their share, as in +liars@75`,
    )
  const liars = lies.length > 0 ? Math.min(nodes - 1, Math.round((nodes * Number(percent)) / 100)) : 0
  const trusts = kind === 'trust'
  return { ...alone, nodes: nodes - liars, foreign: (nodes - 1) * own, liars, lies, trusts }
}

async function play(
  arm: Arm,
  { rate, seed, values, meter }: Played,
  { start, rounds }: { start: Start; rounds: number },
): Promise<Omit<Result, keyof Settings>> {
  const swarm: ExperimentNode[] = []
  for (let i = 0; i < arm.nodes; i++)
    swarm.push(
      await createNode({
        ...{ name: `node ${i}`, seed: 1000 * seed + i, ...start, own: arm.own, foreign: arm.foreign },
        ...{ adaptive: false, learningRate: rate, engine: engineOf(i), trusts: arm.trusts },
      }),
    )
  const outsiders = await liarsOf(arm, seed, start)
  const looks: Look[] = []
  const rewards: number[] = []
  let [questions, groups] = [0, 0]
  const look = (round: number): Promise<void> =>
    meter.part('look', async () => {
      const seen = []
      const mark = arm.liars > 0 ? MARK : undefined
      for (const node of swarm.slice(0, 2)) seen.push(await node.evaluate(Number(values.prompts), { mark }))
      questions = seen[0]!.questions
      looks.push({
        round,
        tokens: mean(swarm.map(({ compute }) => compute.generated)),
        sampled: mean(seen.map(({ sampled }) => sampled)),
        greedy: mean(seen.map(({ greedy }) => greedy)),
        ...(mark !== undefined && { marked: mean(seen.map(({ marked }) => marked)) }),
      })
    })
  const every = Number(values.every) * (arm.rounds / rounds)
  await look(0)
  for (let round = 0; round < arm.rounds; round++) {
    await meter.part('rounds', () =>
      runRounds(
        { rounds: 1, from: round },
        {
          ...{ nodes: swarm, outsiders },
          onRound({ reports }) {
            rewards.push(mean(reports.map(({ reward }) => reward)))
            groups += mean(reports.map(({ taught }) => taught.length)) / arm.own
          },
        },
      ),
    )
    if ((round + 1) % every === 0) await look(round + 1)
  }
  return {
    ...{ questions, looks, rewards, signal: groups / arm.rounds },
    ...(arm.lies.includes('adaptive') && {
      planted: outsiders.reduce((sum, { planted = 0 }) => sum + planted, 0),
    }),
    sampledTokens: mean(swarm.map(({ compute }) => compute.generated)),
    trainedTokens: mean(swarm.map(({ compute }) => compute.trained)),
  }
}

async function liarsOf(
  { nodes, own, liars, lies }: Arm,
  seed: number,
  { model, tasks, known }: Start,
): Promise<(Liar & { readonly planted?: number })[]> {
  const outsiders: (Liar & { readonly planted?: number })[] = []
  for (let i = 0; i < liars; i++) {
    const lie = lies[i % lies.length]!
    const book = createTaskBook(known, tasks)
    const common = { name: `liar ${i}`, seed: 2000 * seed + i, model, groups: own, groupSize: 8 }
    if (lie === 'adaptive') {
      outsiders.push(createAdaptiveLiar({ ...common, tasks: book, victim: engineOf(i % nodes) }))
      continue
    }
    if (!liarEngine) {
      liarEngine = createLocalEngine({ threads: 1 })
      await liarEngine.open({ spec: model.spec, weights: model.weights })
    }
    outsiders.push(createLiar({ ...common, lie, tasks: book.chosen, engine: liarEngine }))
  }
  return outsiders
}
