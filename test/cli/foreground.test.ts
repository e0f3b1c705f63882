import { readdirSync, readFileSync, statSync } from 'node:fs'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type ControlServer, startControlServer } from '../../daemon/control/api/server.ts'
import type { NodeHandle, RunOptions } from '../../daemon/control/node/node.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'
import { createScriptedNode, OTHER, type ScriptedNode, SELF } from '../control/scripted-node.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

interface Started {
  runNode: (options: RunOptions) => Promise<NodeHandle>
  node: ScriptedNode
  options: RunOptions | undefined
}

function scripted(): Started {
  const node = createScriptedNode()
  node.advance(60)
  const started: Started = {
    node,
    options: undefined,
    runNode: async (options) => {
      started.options = options
      return node
    },
  }
  return started
}

test('up says who it is, what it trains, where its files are and what to do next', async () => {
  const started = scripted()
  const running = waggle(['up', '--home', freshHome()], {
    runNode: started.runNode,
    onOutput: (all) => all.includes('next ') && started.node.stop(),
  })
  const { status, stdout } = await running
  expect(status).toBe(0)
  expect(stdout).toContain(`${peerName(SELF)}  ${SELF}`)
  expect(stdout).toMatch(/trains {2}basic_arithmetic, .* with the model waggle-1m on cpu/)
  expect(stdout).toContain('files   /var/lib/waggle')
  expect(stdout).toMatch(/waggle top --home \S+/)
  expect(stdout).toContain(`waggle join ${SELF}`)
})

test('with --log-format json, all that is printed is lines of the log', async () => {
  const started = scripted()
  const { stdout, stderr } = await waggle(['up', '--home', freshHome(), '--log-format', 'json'], {
    runNode: started.runNode,
    onOutput: (all) => all.includes('next ') && started.node.stop(),
  })
  expect(stdout).toBe('')
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toContainEqual(
    expect.objectContaining({
      type: 'log',
      level: 'info',
      area: 'cli',
      message: expect.stringContaining(SELF),
    }),
  )
})

test('up says how long conversations with agents may be, and what the model could read', async () => {
  const started = scripted()
  const { node } = started
  const { snapshot } = node
  node.snapshot = () => ({
    ...snapshot(),
    agents: {
      ...{ listen: 'http://127.0.0.1:4290', maxTokens: 2048, modelContext: 8192 },
      ...{ open: 0, begun: 0, rewarded: 0, groups: 0, rows: 0, dropped: {} },
    },
  })
  const { stdout } = await waggle(['up', '--home', freshHome()], {
    runNode: started.runNode,
    onOutput: (all) => all.includes('next ') && node.stop(),
  })
  expect(stdout).toContain(
    "conversations of up to 2048 tokens (agents.max_tokens); the model's context has 8192",
  )
})

test('up says what it is doing from the first moment, and how it goes within seconds', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const { node } = scripted()
    const { snapshot } = node
    let published = 0
    node.snapshot = () => {
      const now = snapshot()
      published += 1
      return { ...now, ...(now.rollouts && { rollouts: { ...now.rollouts, published } }) }
    }
    const said: string[] = []
    const { stdout, stderr } = await waggle(['up', '--home', freshHome()], {
      runNode: async ({ onProgress }) => {
        onProgress({ message: 'loading the model' })
        return node
      },
      onOutput: (all) => {
        said.push(all)
        if (all.includes('next ') && !all.includes('Training')) vi.advanceTimersByTime(120_000)
        if (all.includes('next ')) void node.stop()
      },
    })
    expect(said[0]).toMatch(/^starting Waggle \d/)
    expect(stderr).toMatch(/^starting Waggle .*\n {2}loading the model\n/)
    // Every 5 seconds in the first minute, every 30 in the second.
    expect(stdout.match(/^Training/gm)).toHaveLength(12 + 2)
  } finally {
    vi.useRealTimers()
  }
})

test('the first step is reported when it happens', async () => {
  const { node, runNode } = scripted()
  let told = false
  const { stdout } = await waggle(['up', '--home', freshHome()], {
    runNode,
    onOutput: (all) => {
      if (!all.includes('next ') || told) return
      told = true
      node.emit({ type: 'step', step: 1, version: 1, metrics: {} })
      void node.stop()
    },
  })
  expect(stdout).toMatch(/^Training .* step /m)
})

test('flags and --set reach the node as config', async () => {
  const started = scripted()
  await waggle(
    [
      'up',
      '--home',
      freshHome(),
      '--no-swarm',
      '--device',
      'cpu',
      '--set',
      'training.batch_groups=3',
      '--tasks',
      'base_conversion',
    ],
    {
      runNode: started.runNode,
      onOutput: (all) => all.includes('next ') && started.node.stop(),
    },
  )
  expect(started.options?.config).toMatchObject({
    swarm: { enabled: false },
    engine: { device: 'cpu' },
    training: { batch_groups: 3 },
    tasks: [{ name: 'base_conversion' }],
  })
})

describe('signals', () => {
  /** Sends SIGINT to a node that runs, and SIGTERM so many milliseconds later, before it has stopped. */
  async function signalledTwice(apartMs: number) {
    const started = scripted()
    let ms = 1e12
    let signal: (name: NodeJS.Signals) => void = () => {}
    const exits: number[] = []
    let hold: () => void = () => {}
    const stop = started.node.stop.bind(started.node)
    started.node.stop = async (...given) => {
      await new Promise<void>((resolve) => {
        hold = resolve
      })
      return await stop(...given)
    }
    let sent = false
    const running = waggle(['up', '--home', freshHome()], {
      runNode: started.runNode,
      onSignal: (handler) => {
        signal = handler
        return () => {}
      },
      exit: ((status: number) => exits.push(status)) as never,
      clock: () => ms,
      onOutput: (all) => {
        if (sent || !all.includes('next ')) return
        sent = true
        queueMicrotask(() => {
          signal('SIGINT')
          ms += apartMs
          signal('SIGTERM')
          hold()
        })
      },
    })
    return { ...(await running), exits }
  }

  test('the first stops gracefully and says so, the second at once', async () => {
    const { status, stderr, exits } = await signalledTwice(500)
    expect(stderr).toContain('Stopping: saving a checkpoint. Press Ctrl-C again to stop at once.')
    expect(exits).toEqual([143])
    expect(status).toBe(0)
  })

  test('a second one right after the first is the same one', async () => {
    const { status, exits } = await signalledTwice(499)
    expect([status, exits]).toEqual([0, []])
  })

  test('before the node is up the start is given up', async () => {
    let signal: (name: NodeJS.Signals) => void = () => {}
    const { status } = await waggle(['up', '--home', freshHome()], {
      onSignal: (handler) => {
        signal = handler
        return () => {}
      },
      runNode: ({ signal: aborted }) =>
        new Promise((_, reject) => {
          aborted.addEventListener('abort', () => reject(aborted.reason))
          queueMicrotask(() => signal('SIGINT'))
        }),
    })
    expect(status).toBe(130)
  })
})

describe('signals that end nothing', () => {
  async function withSignal(
    name: 'SIGHUP' | 'SIGUSR2',
    answered: RegExp,
    more: (node: ScriptedNode) => void = () => {},
  ) {
    const started = scripted()
    more(started.node)
    const home = freshHome()
    let ask: (signal: 'SIGHUP' | 'SIGUSR2') => void = () => {}
    let sent = false
    const result = await waggle(['up', '--home', home], {
      runNode: started.runNode,
      env: { WAGGLE_API_TOKEN: 'hush' },
      onRequest: (handler) => {
        ask = handler
        return () => {}
      },
      onOutput: (all) => {
        if (!sent && all.includes('next ')) {
          sent = true
          queueMicrotask(() => ask(name))
        }
        if (answered.test(all)) queueMicrotask(() => void started.node.stop())
      },
    })
    return { ...result, home, node: started.node }
  }

  test('SIGHUP rereads the config and says what needs a restart', async () => {
    const { status, stderr, node } = await withSignal('SIGHUP', /needs a restart/, (scripted) => {
      scripted.reconfigure = async () => {
        scripted.calls.push('reconfigure')
        return {
          changed: [{ path: 'training.learning_rate', from: 1e-4, to: 3e-4 }],
          restart: ['swarm.listen'],
        }
      }
    })
    expect(status).toBe(0)
    expect(node.calls[0]).toBe('reconfigure')
    expect(stderr).toContain('training.learning_rate changed from 0.0001 to 0.0003')
    expect(stderr).toContain('needs a restart: swarm.listen')
  })

  test('an invalid config is reported, and the node continues unchanged', async () => {
    const { status, stderr } = await withSignal('SIGHUP', /nothing changed/, (node) => {
      node.reconfigure = async () => {
        throw new WaggleError('E_CONFIG', 'the config has a problem')
      }
    })
    expect(status).toBe(0)
    expect(stderr).toContain(
      'error: the config was not reloaded and nothing changed: the config has a problem',
    )
  })

  test('SIGUSR2 writes a report that only the owner can read, without secrets', async () => {
    const { stderr } = await withSignal('SIGUSR2', /diagnostic report: \S/)
    const path = /report: (\S+)/.exec(stderr)![1]!
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const report = JSON.parse(readFileSync(path, 'utf8'))
    expect(report).toMatchObject({
      v: 1,
      facts: { config: { rollout: { group_size: 8 } } },
      snapshot: { training: { step: 60 } },
      process: { memory: { rss: expect.any(Number) } },
    })
    expect(report.events.length).toBeGreaterThan(10)
    expect(JSON.stringify(report)).not.toContain('hush')
  })

  test('a run keeps the config that it was started with', async () => {
    const { home } = await withSignal('SIGHUP', /nothing changed/)
    const [file] = readdirSync(`${home}/runs`).filter((name) => name.endsWith('.toml'))
    expect(readFileSync(`${home}/runs/${file}`, 'utf8')).toContain('learning_rate = 0.001')
  })
})

test('in the journal every line carries its weight', async () => {
  const started = scripted()
  started.node.emit({ type: 'log', level: 'error', area: 'test', message: 'broken' })
  const { stderr } = await waggle(['up', '--home', freshHome()], {
    runNode: started.runNode,
    env: { JOURNAL_STREAM: '8:1' },
    onOutput: (all) => all.includes('next ') && started.node.stop(),
  })
  expect(stderr).toMatch(/^<3>\{.*broken/m)
  expect(stderr).toMatch(/^<6>\{.*checkpoint/m)
})

test("the node's own failure ends with its code and message", async () => {
  const { status, stderr } = await waggle(['up', '--home', freshHome()], {
    runNode: async () => {
      throw new WaggleError('E_MODEL', 'model.safetensors is cut short: 100 of 4000000 bytes', {
        hint: 'Copy it again.',
      })
    },
  })
  expect(status).toBe(4)
  expect(stderr).toContain('error: model.safetensors is cut short')
  expect(stderr).toContain('try   Copy it again.')
})

describe('join', () => {
  test('starts a node where none runs, then joins', async () => {
    const started = scripted()
    const { status, stderr } = await waggle(['join', OTHER, '--home', freshHome()], {
      runNode: started.runNode,
      onOutput: (all) => all.includes('joined ') && started.node.stop(),
    })
    expect(status).toBe(0)
    expect(started.node.calls[0]).toBe(`join ${OTHER}`)
    expect(stderr).toContain(`joined    ${peerName(OTHER)}`)
  })

  test.each(['/ip4/999.0.0.1/tcp/1', `${OTHER.slice(0, -1)}l`])(
    'starts nothing for what cannot be a peer: %s',
    async (target) => {
      const started = scripted()
      const { status, stderr } = await waggle(['join', target, '--home', freshHome()], {
        runNode: started.runNode,
      })
      expect(started.options).toBeUndefined()
      expect([2, 5]).toContain(status)
      expect(stderr).toMatch(/^error: .*is not (an address|a peer ID)/)
    },
  )

  test('stops what it started when the peer does not exist', async () => {
    const started = scripted()
    const { status, stderr } = await waggle(['join', `${OTHER.slice(0, -1)}9`, '--home', freshHome()], {
      runNode: started.runNode,
    })
    expect(status).toBe(5)
    expect(stderr).toContain('nobody on this network answers')
    expect(started.node.calls.at(-1)).toMatch(/^stop/)
  })
})

describe('beside a running daemon', () => {
  async function besideDaemon(use: (home: string, node: ScriptedNode) => Promise<void>): Promise<void> {
    const home = freshHome()
    const node = createScriptedNode({ clock: Date.now })
    node.advance(30)
    const server: ControlServer = await startControlServer(
      { socket: `${home}/control.sock`, run: 'r' },
      { node, clock: Date.now },
    )
    node.whenStopped.then(() => server.close())
    try {
      await use(home, node)
    } finally {
      await server.close()
    }
  }

  test('up refuses, and names the other', () =>
    besideDaemon(async (home) => {
      const { status, stderr } = await waggle(['up', '--home', home])
      expect(status).toBe(5)
      expect(stderr).toContain(`already runs on ${home}`)
      expect(stderr).toContain('E_HOME_LOCKED')
    }))

  test('join asks it, shows progress, and does not let it join itself', () =>
    besideDaemon(async (home, node) => {
      const ok = await waggle(['join', OTHER, '--home', home])
      expect([ok.status, ok.stdout]).toEqual([0, `joined ${peerName(OTHER)}  ${OTHER}\n`])
      expect(ok.stderr).toContain(`looking for ${OTHER}`)
      const self = await waggle(['join', SELF, '--home', home])
      expect(self.status).toBe(5)
      expect(self.stderr).toContain('--home DIR')
      expect(node.calls).toEqual([`join ${OTHER}`])
    }))

  test('status, peers, eval and checkpoint answer as text and as JSON', () =>
    besideDaemon(async (home) => {
      const status = await waggle(['status', '--home', home])
      expect(status.stdout).toMatch(/^training {3}step 30 {2}reward 0\.\d+ {2}signal 63 % of groups$/m)
      expect(JSON.parse((await waggle(['status', '--json', '--home', home])).stdout)).toMatchObject({
        v: 1,
        training: { step: 30 },
      })
      expect((await waggle(['peers', '--home', home])).stdout).toContain(OTHER)
      expect(JSON.parse((await waggle(['peers', '--json', '--home', home])).stdout).peers).toHaveLength(1)
      const evaluated = await waggle(['eval', '--home', home, '--task', 'base_conversion', '--prompts', '8'])
      expect(evaluated.stdout).toMatch(/base_conversion +50\.0 %/)
      expect(JSON.parse((await waggle(['eval', '--json', '--home', home])).stdout)).toMatchObject({
        v: 1,
        accuracy: 0.5,
      })
      expect((await waggle(['checkpoint', '--home', home])).stdout).toContain('saved step 30')
    }))

  test('what status suggests can be typed as it is', () =>
    besideDaemon(async (home, node) => {
      node.overrides = { state: 'PAUSED' }
      const { stdout } = await waggle(['status', '--home', home])
      expect(stdout).toContain(`\`waggle resume --home ${home}\` continues it`)
    }))

  test('rollouts have their difficulty beside the seed', () =>
    besideDaemon(async (home) => {
      const { stdout } = await waggle(['rollouts', '--home', home])
      expect(stdout).toMatch(/^TIME +TASK +DIFFICULTY +SEED /)
      expect(stdout).toMatch(/^\S+ +[a-z_]+ +2 +\d+ +own /m)
      const whole = await waggle(['rollouts', '--home', home, '--full'])
      expect(whole.stdout).toMatch(
        /^\S+ {2}[a-z_]+ {2}difficulty 2 {2}seed \d+ {2}own {2}v\d+ {2}mean \S+ {2}rewards /m,
      )
    }))

  test('stop waits until it is gone', () =>
    besideDaemon(async (home, node) => {
      const { status, stdout } = await waggle(['stop', '--home', home])
      expect([status, stdout]).toEqual([0, `${peerName(SELF)} has stopped\n`])
      expect(node.calls).toEqual(['stop with checkpoint'])
      expect((await waggle(['status', '--home', home])).status).toBe(3)
    }))

  test('hostile names are inert in what commands print', () =>
    besideDaemon(async (home, node) => {
      const bad = '\u001b]52;c;ZXZpbA==\u0007\u202eevil\n\u009b31m'
      const swarm = node.snapshot().swarm!
      node.overrides = {
        detail: bad,
        swarm: { ...swarm, peers: [{ ...swarm.peers[0]!, name: bad, id: bad, agent: bad }] },
        alerts: [{ time: 0, level: 'warning', message: bad, key: 'x' }],
      }
      for (const command of ['status', 'peers']) {
        const { stdout } = await waggle([command, '--home', home])
        expect(stdout).toContain('evil')
        expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
      }
    }))
})

test('a start that is asked to end through the API ends without an error', async () => {
  const { status, stderr } = await waggle(['up', '--home', freshHome()], {
    runNode: ({ signal, interrupt }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        queueMicrotask(interrupt)
      }),
  })
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('error')])
})

test('a stop shows how far it is', async () => {
  const started = scripted()
  let signal: (name: NodeJS.Signals) => void = () => {}
  const stop = started.node.stop
  let isAsked = false
  started.node.stop = async (request, options) => {
    options?.onProgress?.({ message: 'saving 40 %, 4 of 10 MB', phase: { name: 'save', seconds: 3 } })
    await stop(request, options)
  }
  const { stderr } = await waggle(['up', '--home', freshHome()], {
    runNode: started.runNode,
    onSignal: (handler) => {
      signal = handler
      return () => {}
    },
    onOutput(all) {
      if (!all.includes('next ') || isAsked) return
      isAsked = true
      signal('SIGINT')
    },
  })
  expect(stderr).toContain('saving 40 %')
})
