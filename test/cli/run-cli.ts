// Runs a command line in this process, with a world of its own, and gives back what it wrote and its exit status.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createContext } from '../../daemon/cli/context.ts'
import type { Context, Io } from '../../daemon/cli/contract.ts'
import { main } from '../../daemon/cli/run.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import type { RunNode } from '../../daemon/control/node/node.ts'

export interface Result {
  status: number
  stdout: string
  stderr: string
}

export interface CliOptions {
  env?: Record<string, string>
  runNode?: RunNode
  onSignal?: Io['onSignal']
  onRequest?: Io['onRequest']
  exit?: Io['exit']
  clock?: Io['clock']
  tty?: boolean
  stdin?: Io['stdin']
  onOutput?: (all: string) => void
  cwd?: string
}

const homes: string[] = []
/** Called by every file that makes homes, after its tests. */
export function removeHomes(): void {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true })
}

export function freshHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'waggle-cli-'))
  homes.push(home)
  return home
}

/** The included model in this folder, without its chat template. */
export function withoutTemplate(folder: string): string {
  cpSync(resolve(import.meta.dirname, '../../models/default'), folder, { recursive: true })
  const file = join(folder, 'tokenizer_config.json')
  const { chat_template: _, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify(rest))
  return folder
}

/** What a command gets that was called with these options. */
export const contextFor = (options: Record<string, string>): Context =>
  createContext(
    { command: COMMANDS[0]!, options, arguments: [], fromEnv: new Set() },
    ioFor([], {}).io,
    COMMANDS,
  )

export async function waggle(argv: string[], options: CliOptions = {}): Promise<Result> {
  const { io, written } = ioFor(argv, options)
  const status = await main(argv, io, COMMANDS)
  return { status, ...written() }
}

function ioFor(argv: string[], options: CliOptions): { io: Io; written: () => Omit<Result, 'status'> } {
  let stdout = ''
  let stderr = ''
  const note = () => options.onOutput?.(stdout + stderr)
  const io: Io = {
    env: { XDG_STATE_HOME: '/nonexistent/state', XDG_CONFIG_HOME: '/nonexistent/config', ...options.env },
    cwd: options.cwd ?? '/',
    homedir: '/nonexistent',
    tmpdir: tmpdir(),
    uid: process.getuid?.() ?? 0,
    platform: process.platform,
    stdin: options.stdin ?? process.stdin,
    stdout: {
      isTTY: options.tty === true,
      write: (text: string) => {
        stdout += text
        note()
      },
    },
    stderr: {
      isTTY: options.tty === true,
      write: (text: string) => {
        stderr += text
        note()
      },
    },
    clock: options.clock ?? Date.now,
    program: 'waggle',
    self: [],
    argv,
    packageRoot: resolve(import.meta.dirname, '../..'),
    onSignal: options.onSignal ?? (() => () => {}),
    onRequest: options.onRequest ?? (() => () => {}),
    terminalGone: () => false,
    onReaderGone: () => {},
    exit:
      options.exit ??
      ((status) => {
        throw new Error(`exit ${status}`)
      }),
    atExit: (run) => void process.on('exit', run),
    loadRelay: () => Promise.reject(new Error('no relay in this test')),
    loadNode: async () => ({
      runNode:
        options.runNode ??
        (() => {
          throw new Error('no node here')
        }),
    }),
  }
  return { io, written: () => ({ stdout, stderr }) }
}
