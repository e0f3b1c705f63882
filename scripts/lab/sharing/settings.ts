// What nodes that share begin with: tasks and a model, by the name of the setting.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ADAPTER_TARGETS, type AdapterSpec } from '../../../daemon/engine/decoder.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { loadModel, loadModelAs, type Model } from '../../../daemon/policy/model.ts'
import type { TaskChoice } from '../../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import { TASKS } from '../../../daemon/wiring/built-in.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { keepModel } from '../nodes/keep-model.ts'
import type { NodeOptions } from '../nodes/node.ts'
import { folderOf, loadStart } from '../nodes/start.ts'
import { supervise } from '../nodes/supervise.ts'

export interface Start
  extends Pick<
    NodeOptions,
    'model' | 'tasks' | 'known' | 'adapter' | 'maxNewTokens' | 'warmUpSteps' | 'checkpointEvery'
  > {
  known: readonly Task[]
}

const DENSE = at({ basic_arithmetic: 1, base_conversion: 0, fraction_simplification: 1 })
const MODELS = '.cache/experiments/models'

/**
 * `file`: a pretrained model as a GGUF file, for the setting `real`. `rank`: of the adapter, 0 for all parameters; left out,
 * `real` trains an adapter of rank 16, and the other settings all parameters.
 */
export async function startOf(
  setting: string,
  file: string | undefined,
  rank = setting === 'real' ? 16 : 0,
): Promise<Start> {
  if (file !== undefined && setting !== 'real') throw new Error('--model FILE.gguf goes with --setting real')
  const start = await startWith(setting, file, rank)
  return rank === 0 ? start : { ...start, adapter: adapterOf(rank) }
}

const adapterOf = (rank: number): AdapterSpec => ({ rank, alpha: 2 * rank, targets: [...ADAPTER_TARGETS] })

async function startWith(setting: string, file: string | undefined, rank: number): Promise<Start> {
  switch (setting) {
    case 'dense':
      return { model: (await loadStart('three-tasks')).model, tasks: DENSE, known: TASKS }
    // As `dense`, with a model whose answers seldom have the form that verifiers accept.
    case 'sparse':
      return { model: await seldomTagged(0.05), tasks: DENSE, known: TASKS }
    // As in lab:real.
    case 'real':
      if (file === undefined) throw new Error('name a model: --model FILE.gguf')
      return {
        // An adapter is trained on the file's blocks, as a daemon does.
        model: await loadModelAs(file, { disk }, () => (rank === 0 ? 'f32' : 'file')),
        tasks: at({ number_sorting: 0 }),
        known: TASKS.map((task) => withExamples(task, 1)),
        ...{ maxNewTokens: 20, warmUpSteps: 3, checkpointEvery: 1000 },
      }
    default:
      throw new Error(`no setting "${setting}"; there are dense, sparse, real`)
  }
}

/** The model of three tasks after supervised steps with few answers between tags. Made once and kept on disk. */
async function seldomTagged(share: number): Promise<Model> {
  const folder = join(MODELS, `tagged-${share}`)
  if (!existsSync(join(folder, 'model.safetensors'))) {
    const { model } = await loadStart('three-tasks')
    const [engine, random] = [createLocalEngine({ threads: 1 }), randomStream(1, 'seldom-tagged')]
    const example = () => {
      const { name, difficulty } = DENSE[Math.floor(random() * DENSE.length)]!
      const seed = Math.floor(random() * HELD_OUT_SEED)
      const task = TASKS.find((one) => one.name === name)!
      const instance = task.generate({ seed, difficulty, warmStart: true })
      const style = random() < share ? 'worked' : 'untagged'
      return { question: instance.question, completion: answerIn(style, instance) }
    }
    await supervise({ steps: 100, batch: 32, learningRate: 5e-4, example }, { engine, model })
    await keepModel(folder, folderOf('three-tasks'), { engine, model })
    await engine.close()
  }
  return await loadModel(folder, { disk })
}

function at(difficulties: Readonly<Record<string, number>>): (TaskChoice & { difficulty: number })[] {
  return Object.entries(difficulties).map(([name, difficulty]) => ({ name, difficulty }))
}
