// Checks of the machine: Node.js, CPU, memory, preset, disk, clock, GPU.

import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, fsyncSync, openSync, statfsSync, unlinkSync, writeSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { bytes } from '../../../protocol/api/index.ts'
import { isEnough, isOfPreset, PRESETS, proposePreset } from '../../config/presets.ts'
import { defaultConfig } from '../../config/schema.ts'
import { createMachineReader, unkept } from '../../limits/index.ts'
import { loadOnnxruntime } from '../../platform/onnxruntime.ts'
import { type Check, type Finding, fail, ok, warn } from './finding.ts'

const LOW_DISK = 1e9
const NO_DISK = 100e6
const LOW_MEMORY = 1e9
const SLOW_DISK = 10e6
const PROBE_BYTES = 8 * 1024 * 1024
/** Earlier times are certainly wrong. Peers refuse groups with an old date. */
const EARLIEST = Date.UTC(2026, 0, 1)

export const runtime: Check = () => {
  const { node } = process.versions
  const major = Number(node.split('.')[0])
  if (major >= 24) return [ok('Node.js', node)]
  return [warn('Node.js', `${node} works`, 'Waggle is developed on Node.js 24, which is also faster.')]
}

export const processors: Check = ({ config, here }) => {
  const { cores } = here
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

export const memory: Check = ({ here }) => {
  const { freeMemoryBytes: free, memoryBytes: total, limited } = here
  const fact = `${bytes(free)} free of ${bytes(total)}${limited ? ', the limit of this container' : ''}`
  return [
    free < LOW_MEMORY
      ? warn('memory', fact, 'Close other programs, or use a smaller model.')
      : ok('memory', fact),
  ]
}

/** Which preset fits this machine, and whether the config uses a more demanding one. */
export const preset: Check = ({ config, here, context }) => {
  const fits = proposePreset(here)
  const what = `${here.cores} cores, ${bytes(here.memoryBytes)}`
  const chosen = config?.preset ?? 'standard'
  const said =
    config?.preset === undefined
      ? 'none is set, so the defaults (standard) are used'
      : `the config says ${chosen}`
  if (chosen === fits) return [ok('preset', `${fits} fits this machine (${what})`)]
  const fix = `Put preset = "${fits}" at the top of ${context.paths.config}; \`${context.commandLine(`init --preset ${fits}`)}\` writes such a file.`
  const tooMuch = !isEnough(PRESETS[chosen], here)
  const fact = `${fits} fits this machine (${what}); ${said}`
  return [tooMuch ? warn('preset', fact, fix) : { ...ok('preset', fact), fix }]
}

/** Which limits are set, and which of them this machine cannot measure. */
export const limits: Check = async ({ config }) => {
  if (!config) return []
  const machine = createMachineReader({ root: '/' }, { cpus, cpuUsage: () => process.cpuUsage() })
  const without = defaultConfig().limits
  const set = Object.entries(config.limits).filter(
    ([key, value]) => value !== without[key as keyof typeof without],
  )
  const found = set.map(([key, value]) => `${key} ${value}`).join(', ')
  return [
    ok('limits', found || 'none but background priority'),
    ...(await unkept(config.limits, machine)).map(({ limit, why }) => {
      const fact = `limits.${limit} has no effect: ${why}`
      return isOfPreset(config.preset, `limits.${limit}`, config.limits[limit])
        ? ok('limits', fact)
        : warn('limits', fact, 'Do not rely on it.')
    }),
  ]
}

export const disk: Check = ({ context }) => {
  let folder = context.paths.state
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    const { bavail, bsize } = statfsSync(folder)
    const free = bavail * bsize
    const speed = writeSpeed(folder)
    const fact = `${bytes(free)} free at ${folder}${speed === undefined ? '' : `, writes ${bytes(speed)}/s`}`
    if (free < NO_DISK)
      return [fail('disk', fact, 'Free some space or choose another --home: checkpoints will not fit.')]
    if (free < LOW_DISK)
      return [warn('disk', fact, 'Checkpoints need space: free some, or lower checkpoint.keep.')]
    if (speed !== undefined && speed < SLOW_DISK)
      return [
        warn(
          'disk',
          fact,
          'Saving checkpoints will be slow: raise checkpoint.every_steps, or use a --home on another disk.',
        ),
      ]
    return [ok('disk', fact)]
  } catch (error) {
    return [
      fail('disk', `cannot check ${folder}: ${(error as Error).message}`, 'Check that the path can be read.'),
    ]
  }
}

/** Write speed in bytes per second, measured with one small file and fsync; undefined if the folder is not writable. */
function writeSpeed(folder: string): number | undefined {
  const path = join(folder, `.waggle-probe-${process.pid}`)
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      const began = performance.now()
      writeSync(file, Buffer.alloc(PROBE_BYTES, 1))
      fsyncSync(file)
      return (PROBE_BYTES / (performance.now() - began)) * 1000
    } finally {
      closeSync(file)
      unlinkSync(path)
    }
  } catch {
    // A folder that is not writable is reported by another check.
    return undefined
  }
}

export const clock: Check = ({ context, daemon }) => {
  const now = context.io.clock()
  const said = new Date(now).toISOString()
  if (now < EARLIEST)
    return [fail('clock', `it is ${said}?`, 'Set the clock: peers refuse groups with an old date.')]
  if (daemon && Math.abs(daemon.time - now) > 60_000) {
    return [warn('clock', `the clock was changed while the daemon was running`, 'Restart the daemon.')]
  }
  const synchronised = keptInTime()
  if (synchronised === false)
    return [
      warn(
        'clock',
        `${said}, not synchronized with a time server`,
        'Synchronize it with `timedatectl set-ntp true`: peers refuse groups with a wrong date.',
      ),
    ]
  return [ok('clock', `${said}${synchronised ? ', synchronized' : ''}`)]
}

/** Whether systemd synchronizes the clock; undefined if unknown. */
function keptInTime(): boolean | undefined {
  const { status, stdout } = spawnSync('timedatectl', ['show', '--property=NTPSynchronized', '--value'], {
    encoding: 'utf8',
    timeout: 2000,
  })
  return status === 0 ? stdout.trim() === 'yes' : undefined
}

export const graphics: Check = async ({ here }) => {
  const cards = here.graphics
  const found: Finding[] = [
    cards.length > 0
      ? ok('GPU', cards.join(', '))
      : ok('GPU', 'none found; the CPU is enough for small models'),
  ]
  try {
    const names = loadOnnxruntime()
      .listSupportedBackends()
      .map(({ name, bundled }) => (bundled ? name : `${name} (not installed)`))
    found.push(ok('engine', `ONNX Runtime supports ${names.join(', ')}`))
  } catch (error) {
    found.push(
      fail(
        'engine',
        `ONNX Runtime does not load: ${(error as Error).message.split('\n')[0]}`,
        'Reinstall with `npm ci`. It is not available for Alpine Linux.',
      ),
    )
  }
  return found
}
