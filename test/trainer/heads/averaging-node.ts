// A node on a real home that fetches one peer's head and averages it, and can be stopped at named points of that.
// Its trainer holds weights that are all one value: own steps lead from 1 to 2, the peer is at 3, their mean is at 2.5.
// Run by kill.test.ts: node averaging-node.ts <home> <point>, which kills itself there.

import { join } from 'node:path'
import type { DecoderSpec } from '../../../daemon/engine/decoder.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { createNodeHeads, type HeadsParts } from '../../../daemon/node/heads/heads.ts'
import { trainedMeta } from '../../../daemon/policy/trained.ts'
import { createCheckpoints } from '../../../daemon/store/checkpoints/checkpoints.ts'
import type { Disk } from '../../../daemon/store/disk.ts'
import { nodeDisk } from '../../../daemon/store/node-disk.ts'
import { restoreNode, saveNode } from '../../../daemon/trainer/checkpoints/checkpointing.ts'
import { pack } from '../../../daemon/trainer/heads/blocks.ts'
import { createProbation } from '../../../daemon/trainer/heads/probation.ts'
import { layoutOf } from '../../../daemon/trainer/heads/vector.ts'
import { NO_PHASES } from '../../../protocol/api/index.ts'
import { SPEC as SMALL } from '../../engine/model.ts'
import { LINEAGE, startOne } from '../../swarm/heads/network.ts'

/** Its head takes two chunks. */
export const SPEC: DecoderSpec = { ...SMALL, feedForward: 6000 }
const layout = layoutOf(SPEC)
const filled = (value: number): Weights =>
  Object.fromEntries(layout.tensors.map(({ name, length }) => [name, new Float32Array(length).fill(value)]))

/** chunk: one of the head's two chunks has come. tensors: half of the averaged tensors are in place. */
export type Point = 'chunk' | 'tensors' | 'bytes'

export interface AveragingNode {
  /** The value that each weight has; undefined if they differ. */
  value(): number | undefined
  /** The peer's heads in the weights. */
  heads(): number
  /** Own steps from 1 to 2, then an average with the peer, which is at this value, by default 3. */
  average(theirs?: number): Promise<void>
  save(): Promise<unknown>
}

/** `at` is called at each point. `disk`: where checkpoints go. */
export async function startNode(
  home: string,
  { at = () => {}, disk = nodeDisk }: { at?: (point: Point) => void; disk?: Disk } = {},
): Promise<AveragingNode> {
  const checkpoints = await createCheckpoints(
    { directory: join(home, 'checkpoints') },
    { disk, clock: () => Date.now(), log: () => {} },
  )
  const restored = await restoreNode({ lineage: LINEAGE, spec: SPEC }, { checkpoints, disk })
  const trained = {
    weights: restored?.policy.weights ?? filled(1),
    version: restored?.state.version ?? 0,
  }
  const peer = await startOne()
  const own = await startOne({
    async *answers({ question }) {
      for (const [i, message] of (await peer.answer(question)).entries()) {
        if (i === 1) at('chunk')
        yield message
      }
    },
  })
  const heads = createNodeHeads({
    self: 'me',
    isUnknown: () => false,
    policy: {
      ...{ spec: SPEC, lineage: LINEAGE, initial: filled(1) },
      trainer: { weights: async () => trained.weights },
      reference: () => ({ lineage: LINEAGE, tokenizer: '', version: trained.version }),
      async replace(weights: Weights) {
        const names = Object.keys(weights)
        for (const [i, name] of names.entries()) {
          if (i === names.length >> 1) at('tensors')
          trained.weights = { ...trained.weights, [name]: weights[name]! }
        }
      },
    } as unknown as HeadsParts['policy'],
    probation: createProbation(),
    swarm: () => ({ peers: () => [{ id: peer.id, connected: true }] as never, heads: own.heads }),
    joined: restored && trainedMeta(restored.checkpoint.manifest.meta).joined,
    ...{
      isOn: () => true,
      hasReceipts: () => false,
      mayTeach: () => false,
      learningRate: () => 1e-3,
      batchGroups: () => 8,
      mustWait: () => false,
      mostPerHour: () => 0,
      isTrusted: () => true,
    },
    ...{ learnt: () => ({ own: 0, foreign: 0 }), tasks: () => [], phases: NO_PHASES },
    canTry: () => true,
    questions: () => 100,
    chosen: () => [],
    partsOf: () => 1,
    answer: () => Promise.reject(new Error('nothing is tried here')),
    ...{ record() {}, alarm() {}, wake() {}, log() {} },
    ...{ random: () => 0.5, now: () => Date.now(), after: () => () => {} },
  })
  /** Lets what was asked for arrive, and joins it. */
  const exchange = async (): Promise<void> => {
    await heads.exchange()
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    await heads.exchange()
  }
  const save = () =>
    saveNode(
      {
        ...{ version: trained.version, lineage: LINEAGE, rounds: 0, counters: {}, trainedOn: undefined },
        ...{ learner: undefined, spec: SPEC, base: { name: 'tiny', directory: '/' }, joined: heads.joined() },
      },
      {
        trainer: {
          weights: async () => trained.weights,
          optimizer: async () => ({ steps: trained.version, first: filled(0), second: filled(0) }),
        },
        checkpoints,
      },
    )
  return {
    value() {
      const all = layout.tensors.flatMap(({ name }) => [...trained.weights[name]!])
      return all.every((one) => one === all[0]) ? all[0] : undefined
    },
    heads: () => heads.joined()?.peers.reduce((sum, { heads: of }) => sum + of, 0) ?? 0,
    save,
    async average(theirs = 3) {
      trained.weights = filled(1)
      await exchange()
      trained.weights = filled(2)
      trained.version += 4
      peer.heads.offer(
        { lineage: LINEAGE, version: trained.version, own: 0, foreign: 0, tasks: [] },
        pack(new Float32Array(layout.size).fill(theirs - 1)),
      )
      await exchange()
    },
  }
}

/** A disk that calls back before each append from the given one on. */
export function failing(onAppend: (append: number) => void): Disk {
  let appends = 0
  return {
    ...nodeDisk,
    async open(path, mode) {
      const file = await nodeDisk.open(path, mode)
      return {
        ...file,
        append(bytes) {
          onAppend(appends++)
          return file.append(bytes)
        },
      }
    },
  }
}

if (process.argv[1] === import.meta.filename) {
  const [home, point] = process.argv.slice(2) as [string, Point]
  const die = (now: Point): void => {
    if (now === point) process.kill(process.pid, 'SIGKILL')
  }
  const node = await startNode(home, { at: die, disk: failing((append) => append > 0 && die('bytes')) })
  await node.average()
  await node.save()
}
