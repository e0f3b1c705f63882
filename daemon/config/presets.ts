// Named sets of values for machines of different size, laid between the defaults and the config file. They scale how
// much work a step is, and nothing of how learning works: which method, which learning rate, which tasks.

export interface Machine {
  cores: number
  memoryBytes: number
  /** Whether the engine has a GPU that it can drive. */
  gpu: boolean
}

export interface Preset {
  summary: string
  /** What it needs at least. */
  cores: number
  memoryBytes: number
  /** Config path -> value. */
  values: Readonly<Record<string, number>>
}

const GB = 1e9

/** From the least demanding on. */
export const PRESETS = {
  tiny: {
    summary: 'one core, or little memory: short steps, rare evaluations',
    cores: 1,
    memoryBytes: 0,
    values: {
      'engine.threads': 1,
      'rollout.groups_per_round': 4,
      'training.own_groups': 4,
      'training.foreign_groups': 4,
      'eval.every_seconds': 300,
      'eval.prompts_per_task': 30,
      'checkpoint.keep': 2,
    },
  },
  standard: {
    summary: 'two to seven cores: the defaults',
    cores: 2,
    memoryBytes: 3 * GB,
    values: {},
  },
  large: {
    summary: 'eight cores and more: larger batches, so that gradients are less noisy',
    cores: 8,
    memoryBytes: 12 * GB,
    values: {
      'rollout.groups_per_round': 32,
      'training.own_groups': 32,
      'training.foreign_groups': 32,
      'eval.prompts_per_task': 200,
    },
  },
  gpu: {
    summary: 'a GPU that the engine drives: batches that keep it busy',
    cores: 4,
    memoryBytes: 12 * GB,
    values: {
      'rollout.group_size': 16,
      'rollout.groups_per_round': 32,
      'training.own_groups': 32,
      'training.foreign_groups': 32,
      'eval.prompts_per_task': 200,
    },
  },
} as const satisfies Record<string, Preset>

export type PresetName = keyof typeof PRESETS
export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]]

/** The most demanding one that this machine can carry. */
export function proposePreset(machine: Machine): PresetName {
  const fits = PRESET_NAMES.filter((name) => name !== 'gpu' && isEnough(PRESETS[name], machine))
  if (machine.gpu && isEnough(PRESETS.gpu, machine)) return 'gpu'
  return fits.at(-1) ?? 'tiny'
}

export const isEnough = (preset: Preset, { cores, memoryBytes }: Machine): boolean =>
  cores >= preset.cores && memoryBytes >= preset.memoryBytes
