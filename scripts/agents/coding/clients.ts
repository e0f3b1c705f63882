// Coding agents as they come from npm and the Python package index, each without a terminal and in a folder with one
// small file: how to start it on a rollout, and the call of one of its tools that reads the file.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pythonWith, versionsOf } from '../venv.ts'

interface At {
  /** Of the rollout, without /v1. */
  url: string
  key: string
  home: string
}
export interface Client {
  /** On npm, or with `isPython` on the Python package index. */
  package: string
  isPython?: true
  bin: string
  args(question: string, at: At): readonly string[]
  env?(at: At): Record<string, string>
  /** Settings, by file in its home. */
  files?(at: At): Record<string, string | object>
  /** Undefined for an agent without tools, which is asked to edit the file. */
  call?: { name: string; arguments: object }
}

const COMMAND = 'cat add.py'
export const FILE = 'def add(a, b):\n    return a + b\n'

export const CLIENTS: Readonly<Record<string, Client>> = {
  claude: {
    package: '@anthropic-ai/claude-code',
    bin: 'claude',
    args: (question) => ['-p', question, '--allowedTools', 'Bash'],
    env: ({ url, key }) => ({
      ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: 'waggle' },
      ...{ ANTHROPIC_DEFAULT_HAIKU_MODEL: 'waggle', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    }),
    call: { name: 'Bash', arguments: { command: COMMAND, description: 'Read add.py' } },
  },
  codex: {
    package: '@openai/codex',
    bin: 'codex',
    args: (question) => ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', question],
    env: ({ key, home }) => ({ WAGGLE_KEY: key, CODEX_HOME: home }),
    files: ({ url }) => ({
      'config.toml': `model = "waggle"\nmodel_provider = "waggle"\n[model_providers.waggle]\nname = "waggle"\nbase_url = "${url}/v1"\nenv_key = "WAGGLE_KEY"\nwire_api = "responses"\n`,
    }),
    call: { name: 'exec_command', arguments: { cmd: COMMAND } },
  },
  opencode: {
    package: 'opencode-ai',
    bin: 'opencode',
    args: (question) => ['run', '-m', 'waggle/waggle', question],
    files: ({ url, key }) => ({
      'work/opencode.json': {
        provider: {
          waggle: {
            ...{ npm: '@ai-sdk/openai-compatible', name: 'waggle', models: { waggle: { name: 'waggle' } } },
            options: { baseURL: `${url}/v1`, apiKey: key },
          },
        },
      },
    }),
    call: { name: 'bash', arguments: { command: COMMAND, description: 'Read add.py' } },
  },
  pi: {
    package: '@mariozechner/pi-coding-agent',
    bin: 'pi',
    args: (question) => ['--provider', 'waggle', '--model', 'waggle', '-p', question],
    files: ({ url, key }) => ({
      '.pi/agent/models.json': {
        providers: {
          waggle: {
            baseUrl: `${url}/v1`,
            apiKey: key,
            api: 'openai-completions',
            models: [{ id: 'waggle' }],
          },
        },
      },
    }),
    call: { name: 'bash', arguments: { command: COMMAND } },
  },
  qwen: {
    package: '@qwen-code/qwen-code',
    bin: 'qwen',
    args: (question) => ['--auth-type', 'openai', '--approval-mode', 'yolo', '-p', question],
    env: ({ url, key }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key, OPENAI_MODEL: 'waggle' }),
    call: { name: 'run_shell_command', arguments: { command: COMMAND, is_background: false } },
  },
  aider: {
    package: 'aider-chat',
    isPython: true,
    bin: 'aider',
    args: (question) => [
      ...['--model', 'openai/waggle', '--edit-format', 'whole', '--yes-always', '--no-auto-commits'],
      ...['--no-check-update', '--no-show-model-warnings', '--analytics-disable', '--no-pretty'],
      ...['--message', question, 'add.py'],
    ],
    env: ({ url, key }) => ({ OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key }),
  },
}

function installed({ package: name, bin, isPython }: Client): string {
  if (isPython) return resolve(pythonWith(bin, [name]), '..', bin)
  const folder = join('.cache/coding', bin)
  const binary = join(folder, 'node_modules/.bin', bin)
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    execFileSync('npm', ['install', '--silent', name], { cwd: folder, stdio: 'inherit' })
  }
  return resolve(binary)
}

/** Installs it if it is not there. */
export function versionOf(client: Client): string {
  const binary = installed(client)
  if (client.isPython) return versionsOf(join(binary, '../python'), [client.package]).split(' ')[1]!
  const file = join(binary, '../..', client.package, 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

export interface Played {
  code: number | null
  /** What it wrote to its terminal. */
  text: string
  /** What is in the file afterwards. */
  file: string
}

/** Runs the client on a rollout; `at.home` is emptied first. */
export async function play(client: Client, question: string, at: At): Promise<Played> {
  const work = join(at.home, 'work')
  rmSync(at.home, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'add.py'), FILE)
  execFileSync('git', ['init', '-q', work])
  for (const [file, content] of Object.entries(client.files?.(at) ?? {})) {
    mkdirSync(join(at.home, file, '..'), { recursive: true })
    writeFileSync(join(at.home, file), typeof content === 'string' ? content : JSON.stringify(content))
  }
  const child = spawn(installed(client), client.args(question, at), {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: at.home, NO_COLOR: '1', ...client.env?.(at) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (bytes) => (text += bytes))
  child.stderr.on('data', (bytes) => (text += bytes))
  const late = setTimeout(() => child.kill(), 500_000)
  const code = await new Promise<number | null>((done) => child.once('close', done))
  clearTimeout(late)
  return { code, text, file: readFileSync(join(work, 'add.py'), 'utf8') }
}
