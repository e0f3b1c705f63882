// The machine: runtime, processors, memory, disk, clock, graphics.

import { existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, freemem, totalmem } from 'node:os'
import { dirname } from 'node:path'
import { bytes } from '../../../protocol/api/index.ts'
import { type Check, type Finding, fail, ok, warn } from './finding.ts'

const LOW_DISK = 1e9
const NO_DISK = 100e6
const LOW_MEMORY = 1e9
/** Older than this program: the clock is wrong, and peers refuse what comes from the past. */
const EARLIEST = Date.UTC(2026, 0, 1)

export const runtime: Check = () => {
  const { node } = process.versions
  const major = Number(node.split('.')[0])
  if (major >= 24) return [ok('Node.js', node)]
  return [warn('Node.js', `${node} works`, 'Node.js 24 is what Waggle is developed on, and is faster.')]
}

export const processors: Check = ({ config }) => {
  const cores = availableParallelism()
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  const asked = config?.engine.threads ?? 0
  if (asked > cores) {
    return [
      warn(
        'CPU',
        `${cores} cores (${model}), engine.threads is ${asked}`,
        `Set engine.threads to ${cores} or less.`,
      ),
    ]
  }
  return [ok('CPU', `${cores} cores (${model})`)]
}

export const memory: Check = () => {
  const [free, total] = [freemem(), totalmem()]
  const fact = `${bytes(free)} free of ${bytes(total)}`
  return [
    free < LOW_MEMORY
      ? warn('memory', fact, 'Close other programs, or use a smaller model.')
      : ok('memory', fact),
  ]
}

export const disk: Check = ({ context }) => {
  let folder = context.paths.state
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    const { bavail, bsize } = statfsSync(folder)
    const free = bavail * bsize
    const fact = `${bytes(free)} free at ${folder}`
    if (free < NO_DISK)
      return [fail('disk', fact, 'Make room, or choose another --home: checkpoints will not fit.')]
    if (free < LOW_DISK)
      return [warn('disk', fact, 'Checkpoints need room; make some, or lower checkpoint.keep.')]
    return [ok('disk', fact)]
  } catch (error) {
    return [
      fail(
        'disk',
        `cannot look at ${folder}: ${(error as Error).message}`,
        'Check that the path can be read.',
      ),
    ]
  }
}

export const clock: Check = ({ context, daemon }) => {
  const now = context.io.clock()
  const said = new Date(now).toISOString()
  if (now < EARLIEST)
    return [fail('clock', `it is ${said}?`, 'Set the clock; peers refuse what comes from the past.')]
  if (daemon && Math.abs(daemon.time - now) > 60_000) {
    return [warn('clock', `the clock was changed while the daemon ran`, 'Restart the daemon.')]
  }
  return [ok('clock', said)]
}

export const graphics: Check = async () => {
  const cards = devices()
  const found: Finding[] = [
    cards.length > 0 ? ok('GPU', cards.join(', ')) : ok('GPU', 'none seen; the CPU trains small models well'),
  ]
  try {
    const { listSupportedBackends } = await import('onnxruntime-node')
    const names = listSupportedBackends().map(({ name, bundled }) =>
      bundled ? name : `${name} (not installed)`,
    )
    found.push(ok('engine', `ONNX Runtime drives ${names.join(', ')}`))
  } catch (error) {
    found.push(
      fail(
        'engine',
        `ONNX Runtime does not load: ${(error as Error).message.split('\n')[0]}`,
        'Install again with `npm ci`; on Alpine Linux it is not available.',
      ),
    )
  }
  return found
}

function devices(): string[] {
  const found: string[] = []
  try {
    const version = readFileSync('/proc/driver/nvidia/version', 'utf8').split('\n')[0]!
    found.push(`NVIDIA, driver ${/\s(\d+\.[\d.]+)\s/.exec(version)?.[1] ?? 'unknown'}`)
  } catch {
    // No such driver.
  }
  try {
    const nodes = readdirSync('/dev/dri').filter((name) => name.startsWith('render'))
    if (nodes.length > 0 && found.length === 0)
      found.push(`${nodes.length} render device${nodes.length > 1 ? 's' : ''}`)
  } catch {
    // Not Linux, or nothing there.
  }
  return found
}
