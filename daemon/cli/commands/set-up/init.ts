// waggle init: writes a config file that explains every key and its default in comments. Optional: without a config
// file, the same defaults apply.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { WaggleError } from '../../../../protocol/errors.ts'
import { didYouMean } from '../../../../protocol/suggest.ts'
import { configJsonSchema, SCHEMA_FILE } from '../../../config/json-schema.ts'
import { configKeys, configSections } from '../../../config/keys.ts'
import { PRESET_NAMES, type PresetName, proposePreset } from '../../../config/presets.ts'
import { configTemplate } from '../../config-template.ts'
import type { Context } from '../../contract.ts'
import { machineHere } from '../../doctor/here.ts'

export async function run(context: Context): Promise<number> {
  const { config } = context.paths
  const preset = await presetOf(context.options.preset as string | undefined)
  if (existsSync(config) && context.options.force !== true) {
    throw new WaggleError('E_CONFIG', `${config} already exists`, {
      hint: 'Edit it, or overwrite it with --force.',
    })
  }
  try {
    mkdirSync(dirname(config), { recursive: true, mode: 0o700 })
    writeFileSync(config, configTemplate(configKeys(), configSections(), { preset }))
    writeFileSync(join(dirname(config), SCHEMA_FILE), `${JSON.stringify(configJsonSchema(), null, 2)}\n`)
  } catch (cause) {
    throw new WaggleError('E_HOME', `cannot write ${config}: ${(cause as Error).message}`, {
      hint: 'Check the permissions of the folder, or choose another --home.',
      cause,
    })
  }
  if (context.json) context.out(JSON.stringify({ v: 1, config, ...(preset === undefined ? {} : { preset }) }))
  else context.out(config)
  context.say(
    `Edit it, check it with \`${context.commandLine('config check')}\`, start with \`${context.commandLine('up')}\`.`,
  )
  return 0
}

async function presetOf(word: string | undefined): Promise<PresetName | undefined> {
  if (word === undefined) return undefined
  if (word === 'auto') return proposePreset(await machineHere())
  const found = PRESET_NAMES.find((name) => name === word)
  if (found) return found
  const known = ['auto', ...PRESET_NAMES]
  throw new WaggleError(
    'E_USAGE',
    `--preset must be one of ${known.join(', ')}, not "${word}".${didYouMean(word, known)}`,
  )
}
