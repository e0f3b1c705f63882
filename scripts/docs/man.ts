// The manual page waggle(1), from the tables that the program itself uses. Its text is `man`'s own macros.

import type { Command, Option } from '../../daemon/cli/contract.ts'
import { GLOBAL_OPTIONS } from '../../daemon/cli/global-options.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { exitHelp } from '../../daemon/cli/text/help-text.ts'
import { VERSION } from '../../protocol/package.ts'

/** Text between macros: backslashes and a control character at the begin of a line are not roff's. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll(
      /[^\n -~]/gu,
      (letter) => `\\[u${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function optionOf({ name, short, value, summary }: Option): string[] {
  const flag = `\\fB${escaped(`--${name}`)}\\fR${value ? ` \\fI${escaped(value)}\\fR` : ''}`
  return ['.TP', short ? `\\fB\\-${short}\\fR, ${flag}` : flag, `${escaped(capital(summary))}.`]
}

function commandOf({ name, summary, details, arguments: args = [], options = [] }: Command): string[] {
  const words = args.map((one) => (one.required ? `\\fI${one.name}\\fR` : `[\\fI${one.name}\\fR]`)).join(' ')
  return [
    `.SS "waggle ${name}"`,
    `.B waggle ${name}`,
    ...(words ? [words] : []),
    ...(options.length > 0 ? ['[options]'] : []),
    '.PP',
    `${escaped(capital(summary))}.${details ? ` ${escaped(details)}` : ''}`,
    ...args.flatMap((one) => ['.TP', `\\fI${one.name}\\fR`, `${escaped(capital(one.summary))}.`]),
    ...options.flatMap(optionOf),
  ]
}

export function manPage(): string {
  const lines = [
    `.\\" Made by scripts/docs/write.ts.`,
    `.TH WAGGLE 1 "" "waggle ${VERSION}" "User Commands"`,
    '.SH NAME',
    'waggle \\- train small language models with reinforcement learning, alone or with peers',
    '.SH SYNOPSIS',
    '.B waggle',
    '\\fIcommand\\fR [\\fIargument\\fR ...] [options]',
    '.SH DESCRIPTION',
    'Every node has its own model. It answers prompts whose answers can be checked, learns from what it got right,',
    'averages its weights with peers that you trust, and shares rollouts with the others.',
    '.B waggle up',
    'starts one; it needs no set\\-up.',
    'Data goes to standard output, talk to standard error.',
    '.SH COMMANDS',
    ...COMMANDS.flatMap(commandOf),
    '.SH OPTIONS OF EVERY COMMAND',
    ...GLOBAL_OPTIONS.flatMap(optionOf),
    '.SH EXIT STATUS',
    '.nf',
    ...exitHelp().map(escaped),
    '.fi',
    '.SH ENVIRONMENT',
    'Each option has a variable: \\fBWAGGLE_NO_COLOR\\fR is \\fB\\-\\-no\\-color\\fR. Each config key has one:',
    '\\fBWAGGLE_TRAINING_LEARNING_RATE\\fR is \\fBtraining.learning_rate\\fR. \\fBwaggle help config\\fR explains every key.',
    '.SH FILES',
    '.TP',
    '.I ~/.config/waggle/config.toml',
    'The config; optional.',
    '.TP',
    '.I ~/.local/state/waggle',
    'Identity, checkpoints, rollouts, peers, runs, logs. With \\fB\\-\\-home\\fR everything is in that directory.',
  ]
  return `${lines.join('\n')}\n`
}
