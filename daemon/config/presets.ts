// Presets: named sets of values for machines of different sizes. They override the defaults, and the config file
// overrides them. They change how much work a step does, but never the method, the learning rate or the tasks.

export interface Machine {
  cores: number
  memoryBytes: number
}

export interface Preset {
  summary: string
  /** Minimum requirements. */
  cores: number
  memoryBytes: number
  /** Config path -> value. */
  values: Readonly<Record<string, number>>
}

const GB = 1e9

/** From least to most demanding. */
export const PRESETS = {
  tiny: {
    summary: 'one core or little memory: short steps, few writes',
    cores: 1,
    memoryBytes: 0,
    values: {
      'engine.threads': 1,
      'engine.micro_batch_tokens': 512,
      'rollout.groups_per_round': 4,
      'training.batch_groups': 4,
      'eval.every_seconds': 300,
      'eval.prompts_per_task': 30,
      'checkpoint.keep': 2,
      // A Raspberry Pi throttles itself at 80 °C, and its SD card wears with every write.
      'limits.cpu_percent': 50,
      'limits.celsius': 75,
      'limits.writes_gb_per_day': 2,
    },
  },
  standard: {
    summary: 'two to seven cores: the defaults',
    cores: 2,
    memoryBytes: 3 * GB,
    values: {},
  },
  large: {
    summary: 'eight or more cores: larger batches',
    cores: 8,
    memoryBytes: 12 * GB,
    values: {
      'rollout.groups_per_round': 32,
      'training.batch_groups': 32,
      'eval.prompts_per_task': 200,
    },
  },
} as const satisfies Record<string, Preset>

export function isGguf(path: unknown): boolean {
  return typeof path === 'string' && /\.gguf$/i.test(path)
}

export type PresetName = keyof typeof PRESETS
export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]]

/** Whether the preset sets this key to this value, so that the user may not have asked for it. */
export function isOfPreset(name: PresetName | undefined, path: string, value: unknown): boolean {
  const values: Readonly<Record<string, number>> = name === undefined ? {} : PRESETS[name].values
  return path in values && values[path] === value
}

/** The most demanding preset that fits the machine. */
export function proposePreset(machine: Machine): PresetName {
  return PRESET_NAMES.filter((name) => isEnough(PRESETS[name], machine)).at(-1) ?? 'tiny'
}

export const isEnough = (preset: Preset, { cores, memoryBytes }: Machine): boolean =>
  cores >= preset.cores && memoryBytes >= preset.memoryBytes
