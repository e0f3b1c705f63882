// A reader at a terminal: types a page's commands one after another, with real daemons, in a home that is thrown away.
// A node in the foreground stays until another command stops it, as in a second terminal.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseCommandLine } from '../../daemon/cli/parse.ts'
import { COMMANDS } from '../../daemon/cli/table.ts'
import { createClient } from '../../daemon/control/api/client.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { CONFIGS } from '../conformance/families.ts'
import { byteLevelEntries, entriesOf, ggufBytes, randomWeights, tensorsOf } from '../policy/gguf/make.ts'
import { type Block, partsOf, ROOT, waggleWords } from './blocks.ts'

const PROGRAM = join(ROOT, 'daemon/cli/waggle.ts')
const MAX_MS = 120_000

/** Little work a step and an evaluation, and nobody else's nodes. Everything else is as a user has it. */
const QUICK = {
  WAGGLE_SWARM_NAME: `docs-${process.pid}`,
  WAGGLE_ROLLOUT_GROUP_SIZE: '4',
  WAGGLE_ROLLOUT_GROUPS_PER_ROUND: '4',
  WAGGLE_TRAINING_BATCH_GROUPS: '2',
  WAGGLE_TRAINING_MAX_PEER_GROUPS: '2',
  WAGGLE_EVAL_EVERY_SECONDS: '0',
  WAGGLE_EVAL_PROMPTS_PER_TASK: '2',
  WAGGLE_ENGINE_THREADS: '1',
  // A busy machine would starve the daemons, and daemons that train all the time would starve the commands.
  WAGGLE_LIMITS_PRIORITY: 'normal',
  WAGGLE_LIMITS_CPU_PERCENT: '25',
  // A reader compiles the program once, not on each page.
  NODE_COMPILE_CACHE: join(homedir(), '.cache/waggle/compiled'),
}

interface Running {
  child: ChildProcess
  output: string
  status: number | undefined
}

export interface Session {
  /** Runs one line of a shell block; rejects if a command of it fails. */
  type(line: string): Promise<void>
  /** Puts a block that names a file where it says. */
  put(block: Block): Promise<void>
  close(): Promise<void>
}

/** `skip` says which commands are not run here. */
export async function openSession(skip: (command: string) => boolean): Promise<Session> {
  const folder = await mkdtemp(join(tmpdir(), 'waggle-docs-'))
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', NODE_ENV: 'production', ...QUICK }
  const homes = new Set<string>()
  const children: Running[] = []
  let peerId: string | undefined

  const socketOf = (home: string): string =>
    join(home === '' ? join(folder, '.local/state/waggle') : join(folder, home), 'control.sock')
  const healthOf = (home: string) =>
    createClient({ socket: socketOf(home) })
      .health()
      .catch(() => undefined)

  const start = (words: readonly string[]): Running => {
    const child = spawn(process.execPath, [PROGRAM, ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const running: Running = { child, output: '', status: undefined }
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        running.output += data
      })
    }
    child.once('exit', (status) => {
      running.status = status ?? 1
    })
    children.push(running)
    return running
  }

  const until = async (what: string, running: Running, satisfied: () => unknown): Promise<void> => {
    const deadline = performance.now() + MAX_MS
    while (!(await satisfied())) {
      if (running.status !== undefined)
        throw new Error(`${what}: ended with ${running.status}\n${running.output}`)
      if (performance.now() > deadline) throw new Error(`${what}: not within ${MAX_MS} ms\n${running.output}`)
      await new Promise((next) => setTimeout(next, 25))
    }
  }

  const finish = async (words: string[], home: string): Promise<void> => {
    const running = start(home === '' ? words : [...words, '--home', home])
    await until(words.join(' '), running, () => running.status === 0)
  }

  const run = async (command: string, words: readonly string[]): Promise<void> => {
    const typed = words.map((word) => word.replace(/(?<=^|=)12D3KooW(?:\W*|\w{44})$/, () => peerId!))
    const { command: chosen, options } = parseCommandLine(typed, {}, COMMANDS)
    const home = (options.home as string | undefined) ?? ''
    homes.add(home)
    const model = options.model as string | undefined
    if (model?.endsWith('.gguf')) await makeModel(join(folder, model))
    // A second start takes the place of the first, as after Ctrl-C.
    if (chosen.name === 'up' && (await healthOf(home))) await finish(['stop'], home)
    // By the time that a reader comes to an export, the node has saved.
    if (chosen.name === 'export' && (await healthOf(home))) await finish(['checkpoint'], home)
    const running = start(typed)
    if ((chosen.name === 'up' && !options.detach) || (chosen.name === 'join' && !(await healthOf(home)))) {
      const said = chosen.name === 'up' ? '  next ' : 'joined '
      await until(command, running, () => running.output.includes(said))
      peerId ??= (await healthOf(home))?.peerId
    } else if (options.follow || options.watch) {
      await until(command, running, () => running.output.includes('\n'))
      running.child.kill('SIGKILL')
    } else {
      await until(command, running, () => running.status === 0)
    }
  }

  return {
    async type(line) {
      for (const part of partsOf(line)) {
        if (skip(part)) continue
        const words = waggleWords(part.replace(/^npm start(?: --(?= ))?/, 'waggle up'))
        if (!words)
          throw new Error(`"${part}" is no command of Waggle, and not among those that are left out`)
        await run(part, words)
      }
    },
    async put({ file, text }) {
      const path = join(folder, file!)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    },
    async close() {
      for (const home of homes) {
        const pid = (await healthOf(home))?.pid
        if (pid) process.kill(pid, 'SIGKILL')
      }
      for (const { child, status } of children) if (status === undefined) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

/** A model of a page's name: small, untrained, and a GGUF file like any other. */
async function makeModel(path: string): Promise<void> {
  const config = { ...CONFIGS.SmolLM2, vocab_size: 300, max_position_embeddings: 2048 }
  const spec = specOf(config)
  const entries = { ...entriesOf('llama', config), ...byteLevelEntries() }
  await writeFile(path, await ggufBytes(entries, tensorsOf('llama', spec, randomWeights(spec))))
}
