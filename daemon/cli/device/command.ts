// waggle device: tests the available devices, and installs the CUDA provider.

import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { bytes } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { choose, told } from '../../engine/devices/choice.ts'
import { findAll } from '../../engine/devices/decide.ts'
import { drivable } from '../../engine/devices/device.ts'
import { installCuda } from '../../engine/devices/install/cuda.ts'
import { NUGET } from '../../engine/devices/install/nuget.ts'
import { thisMachine } from '../../engine/devices/machine.ts'
import { probe } from '../../engine/devices/probe.ts'
import { findOnnxruntime } from '../../platform/onnxruntime.ts'
import type { Context } from '../contract.ts'

export function run(context: Context): Promise<number> {
  const [action = 'list', what] = context.arguments
  return action === 'install' ? install(context, what) : list(context)
}

async function list(context: Context): Promise<number> {
  const machine = thisMachine()
  if (drivable(machine).length > 0)
    context.say(
      'Testing each device against the CPU, with a model of 1 M parameters; a node takes the sizes of its own. The first time takes a while.',
    )
  // As many as each of a node's two engines has.
  const threads = Math.max(1, Math.floor(availableParallelism() / 2))
  const findings = await findAll(
    { wanted: 'auto', machine, precision: 'auto', purpose: { threads } },
    { probe },
  )
  const choice = choose('auto', findings)
  if (context.json) context.out(JSON.stringify({ v: 1, choice, findings }))
  else {
    for (const finding of findings) context.out(told(finding))
    context.out(`auto selects ${choice.device}${choice.device === 'cpu' ? '' : `: ${choice.reason}`}`)
  }
  return 0
}

async function install(context: Context, what: string | undefined): Promise<number> {
  if (what !== 'cuda')
    throw new WaggleError(
      'E_USAGE',
      'only `cuda` can be installed: the other providers are part of ONNX Runtime',
    )
  const from = (context.options.from as string | undefined) ?? NUGET
  const isFeed = /^https?:\/\//.test(from)
  context.say(`${isFeed ? 'Fetching' : 'Reading'} ONNX Runtime's CUDA provider: ${from}`)
  const done = await installCuda(
    {
      binding: findOnnxruntime().folder,
      platform: process.platform,
      arch: process.arch,
      from: isFeed ? { index: from } : { file: resolve(context.io.cwd, from) },
      digest: context.options.digest as string | undefined,
    },
    { fetch: globalThis.fetch, onProgress: progress(context) },
  )
  const [finding] = await findAll(
    { wanted: 'cuda', machine: thisMachine(), purpose: { threads: 1 } },
    { probe },
  )
  if (context.json) context.out(JSON.stringify({ v: 1, ...done, finding }))
  else {
    context.out(`CUDA provider ${done.version}, ${bytes(done.bytes)}, in ${done.directory}`)
    context.out(done.verified ? `${done.verified} verified` : 'not verified: no digest was given')
    context.out(told(finding!))
  }
  if (finding!.trouble !== undefined)
    context.say(
      `It needs the NVIDIA driver, CUDA${done.cuda === undefined ? '' : ` ${done.cuda}`} and cuDNN 9 (libcublas, libcudart, libcurand, libcudnn) on the library path.`,
    )
  return 0
}

const STEP = 50e6

function progress(context: Context): (done: number, total: number | undefined) => void {
  let next = STEP
  return (done, total) => {
    if (done < next) return
    next += STEP
    context.say(`${bytes(done)}${total ? ` of ${bytes(total)}` : ''}`)
  }
}
