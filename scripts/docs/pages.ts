// Reference pages, generated from the tables that the program itself uses: commands, config keys, error codes, metrics.
// scripts/docs/write.ts writes them to docs/reference; a test checks that they are up to date.

import { gatewayApi } from '../../daemon/agents/index.ts'
import type { Command, Option } from '../../daemon/cli/contract.ts'
import { GLOBAL_OPTIONS } from '../../daemon/cli/global-options.ts'
import { MODEL_OPTIONS, NODE_OPTIONS, REMOTE, SAMPLING } from '../../daemon/cli/table/options.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { exitHelp } from '../../daemon/cli/text/help-text.ts'
import { configJsonSchema } from '../../daemon/config/json-schema.ts'
import { configKeys, configSections, type Key } from '../../daemon/config/keys.ts'
import { controlApi } from '../../daemon/control/api/openapi.ts'
import { VERIFIERS } from '../../plugins/tasks/verifiers/index.ts'
import { METRICS } from '../../protocol/api/index.ts'
import { ERROR_HELP } from '../../protocol/error-help.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/errors.ts'
import { VERSION } from '../../protocol/package.ts'
import { manPage } from './man.ts'

const MADE =
  '<!-- Made by `node --import tsx scripts/docs/write.ts`. Edit the tables in the code, not this page. -->'

/** Outside of code, where Markdown would take it for a tag. */
const escaped = (text: string): string => text.replaceAll(/(`[^`]*`)|</g, (_, code) => code ?? '&lt;')
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function optionList(options: readonly Option[]): string[] {
  return options.map(({ name, short, value, summary, key }) => {
    const shown = `${short ? `\`-${short}\`, ` : ''}\`--${name}${value ? ` ${value}` : ''}\``
    return `- ${shown}: ${escaped(summary)}${key ? ` (\`${key}\`)` : ''}`
  })
}

/** Options that several commands have, explained once. The first set that a command has all of stands for its options. */
const SHARED = [
  ['Node options', NODE_OPTIONS],
  ['Daemon options', REMOTE],
  ['Model options', MODEL_OPTIONS],
  ['Sampling options', SAMPLING],
] as const

/** Model options are node options. */
const sharedList = (options: readonly Option[]): string[] =>
  options === MODEL_OPTIONS
    ? [`${options.map(({ name }) => `\`--${name}\``).join(', ')}: [node options](#node-options).`]
    : optionList(options)

function optionLines(options: readonly Option[]): string[] {
  let own = [...options]
  const links: string[] = []
  for (const [title, shared] of SHARED) {
    if (!shared.every((option) => own.includes(option))) continue
    own = own.filter((option) => !shared.includes(option))
    links.push(`[${title.toLowerCase()}](#${title.toLowerCase().replaceAll(' ', '-')})`)
  }
  return [...optionList(own), ...(links.length > 0 ? [`- ${links.join(', ')}`] : [])]
}

function commandSection({
  name,
  summary,
  details,
  arguments: args = [],
  options = [],
  examples = [],
}: Command): string[] {
  const words = args.map((a) => (a.required ? `<${a.name}>` : `[${a.name}]`)).join(' ')
  return [
    '',
    `## waggle ${name}${words ? ` \`${words}\`` : ''}`,
    '',
    `${escaped(capital(summary))}.${details ? ` ${escaped(details)}` : ''}`,
    ...(args.length + options.length > 0 ? [''] : []),
    ...args.map((a) => `- \`${a.name}\`: ${escaped(a.summary)}`),
    ...optionLines(options),
    ...(examples.length > 0
      ? ['', '```sh', ...examples.map(([command, what]) => `${command}  # ${what}`), '```']
      : []),
  ]
}

function commandsPage(): string[] {
  return [
    '# Commands',
    '',
    MADE,
    '',
    'From a checkout, `npm run -s waggle -- <command>` runs any of them. Data goes to standard output, talk to standard error;',
    '`--json` gives data for programs (additive within `"v": 1`). Errors are then JSON on standard error, with a code of',
    '[these](errors.md), or `E_UNEXPECTED` for a bug. Each option but help and version has a variable as well:',
    '`WAGGLE_NO_COLOR` is `--no-color`.',
    '',
    '## Options that every command takes',
    '',
    ...optionList(GLOBAL_OPTIONS),
    ...SHARED.flatMap(([title, options]) => ['', `## ${title}`, '', ...sharedList(options)]),
    ...COMMANDS.flatMap(commandSection),
  ]
}

function keyLine({ path, default: value, description, choices, range, live }: Key): string {
  const isTold = choices?.every((choice) => description.includes(choice))
  const limits = [isTold ? undefined : choices?.join(', '), range.replace(/^(\S+) to (\S+)$/, '$1–$2')]
    .filter(Boolean)
    .join('; ')
  const shown = value === undefined ? path : `${path}=${JSON.stringify(value)}`
  return `- \`${shown}\`${live ? ' (live)' : ''}: ${escaped(description)}${limits ? ` (${limits})` : ''}`
}

function configPage(): string[] {
  const keys = configKeys()
  const lines = [
    '# Configuration',
    '',
    MADE,
    '',
    'One TOML file, `config.toml` in the home or in `$XDG_CONFIG_HOME/waggle`; `waggle init` writes one. Environment variables override',
    'the file (`WAGGLE_TRAINING_LEARNING_RATE` is `training.learning_rate`), and flags override both (`--set key=value`). `waggle config',
    'check` lists every mistake, `waggle config show --origin` says where each value comes from. Keys are shown with their defaults;',
    '*live* ones can change while the node runs (`waggle set`).',
    '',
    'A plugin is a table with `use` and its own settings beside it:',
    '',
    '```toml',
    '[estimator]',
    'use = "grpo"',
    '',
    '[[corrections]]',
    'use = "clip"',
    '```',
  ]
  for (const section of Object.keys(configSections())) {
    const own = keys.filter(({ path }) => path === section || path.startsWith(`${section}.`))
    lines.push('', `## ${section}`, '', ...own.map(keyLine))
    for (const { path, entry } of own) {
      if (!entry) continue
      const rows = entry.map(({ name, description }) => `- \`${name}\`: ${escaped(description)}`)
      lines.push('', `Each entry, \`[[${path}]]\`, has:`, '', ...rows)
    }
    if (section === 'tasks') lines.push(...datasets())
  }
  return lines
}

function datasets(): string[] {
  return [
    '',
    '[Your own questions and rewards](../datasets.md) has examples. A row has at most 64 KiB, a dataset 256 MiB and a million rows. A task',
    'at a difficulty has all rows up to it; a row without one has 0. A folder may also have pairs `NAME.prompt.txt` and `NAME.answer.txt`.',
    'Verifiers:',
    '',
    ...VERIFIERS.map(
      ({ name, summary, keys }) =>
        `- \`${name}\`: ${summary}.${keys.length > 0 ? ` Settings: ${keys.map((key) => `\`${key}\``).join(', ')}` : ''}`,
    ),
  ]
}

function errorSection(code: ErrorCode): string[] {
  return [
    `## ${code}`,
    '',
    `${escaped(capital(ERROR_CODES[code][1]))}.`,
    '',
    ...ERROR_HELP[code].map(({ cause, cure }) => `- ${escaped(cause)} ${escaped(cure)}`),
    '',
  ]
}

function errorsPage(): string[] {
  return [
    '# Errors and exit statuses',
    '',
    MADE,
    '',
    'Every expected error has a code, says what to do, and prints no stack. `waggle help <code>` shows the same: likely causes,',
    'each with what to do.',
    '',
    ...(Object.keys(ERROR_CODES) as ErrorCode[]).flatMap(errorSection),
    '## Exit statuses',
    '',
    '```text',
    ...exitHelp(),
    '```',
  ]
}

/** Whether a metric's name says its unit, as `_bytes` and `_groups_total` do. */
const saysUnit = (name: string, unit: string): boolean =>
  new RegExp(
    `_(${{ s: 'seconds', B: 'bytes', 'tok/s': 'tokens_per_second', unix: 'timestamp' }[unit] ?? unit})(_|$)`,
  ).test(name)

function metricsPage(): string[] {
  return [
    '# Metrics',
    '',
    MADE,
    '',
    '`GET /metrics` on the control socket gives these in Prometheus text form, and `GET /v1/series?name=` the recent past of each',
    'under its short name, in brackets (a label follows after a dot, as in `eval_task_accuracy.base_conversion`). Names of counters end',
    'in `_total`. An unknown number is left out. Labels name peers in `waggle_swarm_peer_…` only: 32 at most, those connected now.',
    '',
    ...METRICS.map(({ name, series, kind, unit, help, passing }) => {
      const notes = [
        passing ? undefined : `\`${series}\``,
        kind === 'histogram' ? kind : undefined,
        unit && unit !== '1' && !saysUnit(name, unit) ? unit : undefined,
      ].filter(Boolean)
      return `- \`${name}\`${notes.length > 0 ? ` (${notes.join(', ')})` : ''}: ${escaped(help)}`
    }),
  ]
}

/** File name -> text. Schemas are what `waggle schema` prints. */
export function referencePages(): Record<string, string> {
  const pages = {
    commands: commandsPage(),
    configuration: configPage(),
    errors: errorsPage(),
    metrics: metricsPage(),
  }
  const schemas = {
    'config.schema': configJsonSchema(),
    'control-api': controlApi(VERSION),
    'gateway-api': gatewayApi(),
  }
  return {
    ...Object.fromEntries(
      Object.entries(pages).map(([name, lines]) => [`${name}.md`, `${lines.join('\n')}\n`]),
    ),
    ...Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [
        `${name}.json`,
        `${JSON.stringify(schema, null, 2)}\n`,
      ]),
    ),
    'waggle.1': manPage(),
  }
}
