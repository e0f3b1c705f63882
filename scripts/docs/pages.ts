// Reference pages, generated from the tables that the program itself uses: commands, config keys, error codes, metrics.
// scripts/docs/write.ts writes them to docs/reference; a test checks that they are up to date.

import { type Command, envTwin, GLOBAL_OPTIONS, hasEnvTwin, type Option } from '../../daemon/cli/command.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { exitHelp } from '../../daemon/cli/text/help-text.ts'
import { configKeys, configSections, type Key } from '../../daemon/config/keys.ts'
import { VERIFIERS } from '../../plugins/tasks/verifiers/index.ts'
import { METRICS } from '../../protocol/api/index.ts'
import { ERROR_HELP } from '../../protocol/error-help.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/errors.ts'
import { KEYS } from '../../tui/keys.ts'

const MADE =
  '<!-- Made by `node --import tsx scripts/docs/write.ts`. Edit the tables in the code, not this page. -->'

const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const table = (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string[] => [
  row(head),
  row(head.map(() => '---')),
  ...rows.map(row),
]

function optionRows(options: readonly Option[]): string[] {
  const rows = options.map((option) => {
    const { name, short, value, summary, key } = option
    const shown = `${short ? `\`-${short}\`, ` : ''}\`--${name}${value ? ` ${value}` : ''}\``
    return [
      shown,
      hasEnvTwin(option) ? `\`${envTwin(option)}\`` : '',
      escaped(summary) + (key ? ` (\`${key}\`)` : ''),
    ]
  })
  return table(['Option', 'Variable', 'What it does'], rows)
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
    `## waggle ${name}`,
    '',
    `\`waggle ${[name, words].filter(Boolean).join(' ')}${options.length > 0 ? ' [options]' : ''}\``,
    '',
    `${escaped(capital(summary))}.${details ? ` ${escaped(details)}` : ''}`,
    ...(args.length > 0
      ? [
          '',
          ...table(
            ['Argument', 'What it is'],
            args.map((a) => [`\`${a.name}\``, escaped(a.summary)]),
          ),
        ]
      : []),
    ...(options.length > 0 ? ['', ...optionRows(options)] : []),
    ...(examples.length > 0
      ? ['', '```sh', ...examples.flatMap(([command, what]) => [`# ${what}`, command]), '```']
      : []),
  ]
}

function commandsPage(): string[] {
  return [
    '# Commands',
    '',
    MADE,
    '',
    'From a checkout, `npm run -s waggle -- <command>` runs any of them. Data goes to standard output and talk to standard',
    'error; `--json` gives data for programs (additive within `"v": 1`). Every option has an environment twin.',
    '',
    '## Options that every command takes',
    '',
    ...optionRows(GLOBAL_OPTIONS),
    ...COMMANDS.flatMap(commandSection),
    '',
    '## Keys of `waggle top`',
    '',
    ...table(
      ['Key', 'What it does'],
      KEYS.map(({ shown, does }) => [`\`${shown}\``, escaped(does)]),
    ),
  ]
}

function keyRow({ path, default: value, description, choices, range, env, live }: Key): string[] {
  const limits = [choices?.join(', '), range].filter(Boolean).join('; ')
  return [
    `\`${path}\``,
    value === undefined ? 'unset' : `\`${JSON.stringify(value)}\``,
    escaped(
      `${capital(description)}${limits ? ` (${limits})` : ''}.${live ? ' Can change while the node runs.' : ''}`,
    ),
    `\`${env}\``,
  ]
}

function configPage(): string[] {
  const keys = configKeys()
  const sections = configSections()
  const lines = [
    '# Configuration',
    '',
    MADE,
    '',
    'One TOML file, `config.toml` in the home or in `$XDG_CONFIG_HOME/waggle`; `waggle init` writes one with every key',
    'explained. Defaults are overridden by the file, the file by environment variables, those by flags (`--set key=value`',
    'sets any key). `waggle config check` lists every mistake at once, `waggle config show --origin` says where each value',
    'comes from. An unknown key is an error.',
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
  for (const section of Object.keys(sections)) {
    const own = keys.filter(({ path }) => path === section || path.startsWith(`${section}.`))
    lines.push('', `## ${section}`, '', `${capital(sections[section]!)}.`, '')
    lines.push(...table(['Key', 'Default', 'What it does', 'Variable'], own.map(keyRow)))
    for (const { path, entry } of own) {
      if (!entry) continue
      const rows = entry.map(({ name, description }) => [`\`${name}\``, `${escaped(capital(description))}.`])
      lines.push('', `Each entry, \`[[${path}]]\`, has:`, '', ...table(['Key', 'What it does'], rows))
    }
    if (section === 'tasks') lines.push(...datasets())
  }
  return lines
}

function datasets(): string[] {
  return [
    '',
    'A row of a dataset is a JSON object on one line or a line of a table, at most 64 KiB: `prompt`, `answer` (a text, a number or',
    'a list of these), and where wanted `difficulty` (a whole number, 0 if left out; the task at a difficulty has all rows up to',
    'it), `verifier` (as in the config, but no file), `choices` (for the verifier `choice`) and `id`. `fields` maps other names to',
    'these. In a table `choices`, and a `verifier` with settings, are written as JSON. A dataset is at most 256 MiB and a million',
    'rows; a folder has all its `*.jsonl`, `*.csv` and `*.tsv`, or pairs `NAME.prompt.txt` and `NAME.answer.txt`.',
    '[Your own questions and rewards](../datasets.md) has examples, and says how to write a verifier. Those that come along:',
    '',
    ...table(
      ['Verifier', 'What is right', 'Settings'],
      VERIFIERS.map(({ name, summary, keys }) => [
        `\`${name}\``,
        `${summary}.`,
        keys.map((key) => `\`${key}\``).join(', '),
      ]),
    ),
  ]
}

function errorSection(code: ErrorCode): string[] {
  return [
    `## ${code}`,
    '',
    `${escaped(capital(ERROR_CODES[code][1]))}.`,
    '',
    ...table(
      ['Likely', 'What to do'],
      ERROR_HELP[code].map(({ cause, cure }) => [escaped(cause), escaped(cure)]),
    ),
    '',
  ]
}

function errorsPage(): string[] {
  return [
    '# Errors and exit statuses',
    '',
    MADE,
    '',
    'Every expected error has a code, says what to do, and prints no stack. `waggle help <code>` shows the same.',
    '',
    ...table(
      ['Code', 'Exit status', 'Meaning'],
      Object.entries(ERROR_CODES).map(([code, [status, meaning]]) => [
        `[\`${code}\`](#${code.toLowerCase()})`,
        String(status),
        escaped(capital(meaning)),
      ]),
    ),
    '',
    ...(Object.keys(ERROR_CODES) as ErrorCode[]).flatMap(errorSection),
    '## Exit statuses',
    '',
    '```text',
    ...exitHelp(),
    '```',
  ]
}

function metricsPage(): string[] {
  return [
    '# Metrics',
    '',
    MADE,
    '',
    '`GET /metrics` on the control socket gives these in Prometheus text form, and `GET /v1/series?name=` the recent past of',
    'each under its short name (a label follows after a dot, as in `eval_task_accuracy.base_conversion`). A number that is',
    'not known is left out. Labels name peers in `waggle_peer_…` only: those connected now, 32 at most, and without a past.',
    '',
    ...table(
      ['Metric', 'Series', 'Kind', 'Unit', 'Meaning'],
      METRICS.map(({ name, series, kind, unit, help, passing }) => [
        `\`${name}\``,
        passing ? '-' : `\`${series}\``,
        kind,
        unit || '-',
        escaped(help),
      ]),
    ),
  ]
}

/** File name -> text. */
export function referencePages(): Record<string, string> {
  const pages = {
    commands: commandsPage(),
    configuration: configPage(),
    errors: errorsPage(),
    metrics: metricsPage(),
  }
  return Object.fromEntries(
    Object.entries(pages).map(([name, lines]) => [`${name}.md`, `${lines.join('\n')}\n`]),
  )
}
