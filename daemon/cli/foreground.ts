// Runs a node in the foreground: start, say what runs where, tell what happens, stop on a signal. The first signal
// stops gracefully with a checkpoint, the second at once; SIGHUP and SIGUSR2 ask for something else. The node itself is
// behind RunNode; nothing of it is here.

import { isAbsolute } from 'node:path'
import { stringify } from 'smol-toml'
import { EXIT, WaggleError } from '../../protocol/errors.ts'
import { safeText } from '../../protocol/text.ts'
import type { Loaded } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { NodeHandle } from '../control/node.ts'
import { createRunFile } from '../control/run-file.ts'
import { answerSignal } from './answer-signal.ts'
import { boundedOutput } from './bounded-output.ts'
import type { Context } from './context.ts'
import { isInvite } from './join-target.ts'
import { contextConfig, startConfig } from './load-config.ts'
import { createNarrator, logFormat } from './narrator.ts'

const SIGNAL_NUMBER: Partial<Record<NodeJS.Signals, number>> = { SIGINT: 2, SIGTERM: 15 }

export interface ForegroundOptions {
  /** Peer to join once the node is up. */
  join?: string
  /** Relay instead of training. */
  relay?: boolean
}

export async function runForeground(
  given: Context,
  { join, relay = false }: ForegroundOptions = {},
): Promise<number> {
  const { stdout, stderr } = given.io
  const io = { ...given.io, stdout: boundedOutput(stdout), stderr: boundedOutput(stderr) }
  const context: Context = { ...given, io }
  const { paths } = context
  const { config, originOf } = await startConfig(context)
  if (relay) placeRelay(config, originOf)
  logFormat(context)
  await refuseSecond(context)

  const starting = new AbortController()
  let node: NodeHandle | undefined
  let signals = 0
  const stop = (words: string): void => {
    context.say(words)
    starting.abort(new WaggleError('E_USAGE', 'interrupted'))
    node?.stop().catch((error) => context.say(`error: ${messageOf(error)}`))
  }
  const offSignals = io.onSignal((signal) => {
    signals += 1
    if (signals > 1) {
      io.exit(128 + (SIGNAL_NUMBER[signal] ?? 2))
      return
    }
    stop(`Stopping${relay ? '' : ': saving a checkpoint'}. Press Ctrl-C again to stop at once.`)
  })
  // `waggle up | head`, or a terminal that is closed: as Ctrl-C, with a checkpoint.
  const gone = (): void => {
    signals += 1
    if (signals === 1) stop('Stopping: nobody reads this any more.')
  }
  io.onReaderGone(gone)
  const offRequests = io.onRequest((signal) => {
    if (signal === 'SIGHUP' && io.terminalGone()) return gone()
    if (node) void answerSignal(signal, context, node)
  })

  let narrator: ReturnType<typeof createNarrator> | undefined
  let record: ReturnType<typeof createRunFile> | undefined
  try {
    // Fetched here, where a progress bar can be shown; the node finds it in the cache.
    const { path: model } = config.model
    if (!relay && model !== 'default' && !isAbsolute(model)) {
      await (await import('./model/locate.ts')).locateModel(context, model)
    }
    const { runNode } = await (relay ? io.loadRelay() : io.loadNode())
    node = await runNode({
      config,
      readConfig: (settings) => contextConfig(context, settings).config,
      paths,
      ...(join !== undefined && isInvite(join) && { invite: join }),
      signal: starting.signal,
      onProgress: ({ message }) => context.say(`  ${message}`),
    })
    // Nobody may be waiting yet when it fails; the await below tells.
    node.whenStopped.catch(() => {})
    const running = node
    narrator = createNarrator(
      context,
      node,
      config.tasks.map(({ name }) => name),
    )
    record = createRunFile(
      { directory: paths.runs, config: stringify(config) },
      { events: node.events, snapshot: () => running.snapshot(), clock: io.clock },
    )
    if (starting.signal.aborted) await node.stop()
    else narrator.introduce()
    if (join !== undefined && !starting.signal.aborted) await joinOrStop(context, node, join)
    return await node.whenStopped
  } catch (error) {
    // Interrupted before it was up: there is nothing to report.
    if (signals > 0 && node === undefined) return EXIT.interrupted
    throw error
  } finally {
    narrator?.close()
    await record?.close()
    offSignals()
    offRequests()
  }
}

/** The node's own lock decides in the end; this tells it better, and sooner. */
async function refuseSecond({ client, paths, commandLine }: Context): Promise<void> {
  const running = await client.health().catch(() => undefined)
  if (!running) return
  throw new WaggleError(
    'E_HOME_LOCKED',
    `${safeText(running.name)} (process ${running.pid}) already runs on ${paths.home ?? paths.state}`,
    {
      hint: `See it with \`${commandLine('status')}\`, stop it with \`${commandLine('stop')}\`, or start another one with --home DIR.`,
    },
  )
}

/** A peer that is not found yet is searched for while the node trains alone; one that cannot be joined ends it. */
async function joinOrStop(context: Context, node: NodeHandle, target: string): Promise<void> {
  try {
    const peer = await node.join(
      { target },
      { onProgress: ({ message }) => context.say(`  ${safeText(message, { line: true })}`) },
    )
    context.say(`joined    ${safeText(peer.name)}  ${safeText(peer.peerId)}`)
  } catch (error) {
    if (error instanceof WaggleError && error.data?.searching === true) {
      context.say(`searching ${error.message}. The node trains alone meanwhile.`)
      if (error.hint) context.say(`          ${error.hint}`)
      return
    }
    await node.stop()
    await node.whenStopped.catch(() => {})
    throw error
  }
}

/** Others have to know where a relay is, so its ports are the same at every start. */
function placeRelay({ swarm }: Config, originOf: Loaded['originOf']): void {
  if (originOf(['swarm', 'listen']) === undefined) swarm.listen = ['/ip4/0.0.0.0/tcp/4001']
  if (originOf(['swarm', 'stun_port']) === undefined) swarm.stun_port = 3478
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
