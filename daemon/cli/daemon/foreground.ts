// Runs a node in the foreground: starts it, prints what happens, and stops it on a signal. The first signal saves a
// checkpoint and stops the node; a later one stops it immediately. SIGHUP and SIGUSR2 are in answer-signal.ts. The node
// itself is behind RunNode.

import { isAbsolute } from 'node:path'
import { stringify } from 'smol-toml'
import { metText } from '../../../protocol/api/index.ts'
import { EXIT, WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Loaded } from '../../config/load.ts'
import type { Config } from '../../config/schema.ts'
import { createRunFile } from '../../control/journal/run-file.ts'
import type { NodeHandle } from '../../control/node/node.ts'
import { checkedConfig, startConfig } from '../checked-config.ts'
import type { Context } from '../contract.ts'
import { contextConfig } from '../load-config.ts'
import { sayContinued } from '../model/continued.ts'
import { boundedOutput } from '../text/bounded-output.ts'
import { inLogLines } from '../text/log-lines.ts'
import { createNarrator, logFormat } from '../text/narrator.ts'
import { createProgressLine } from '../text/progress.ts'
import { statusLine } from '../text/status-line.ts'
import { answerSignal } from './answer-signal.ts'
import { isInvite } from './join-target.ts'
import { refuseSecond } from './second.ts'
import { createServiceManager, sendBySystemdNotify } from './service-manager.ts'
import { createStopSignals } from './stop-signals.ts'

const SIGNAL_NUMBER: Partial<Record<NodeJS.Signals, number>> = { SIGINT: 2, SIGTERM: 15 }

interface ForegroundOptions {
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
  const context = inLogLines({ ...given, io })
  const { paths } = context
  const loaded = await startConfig(context)
  const { config, originOf } = loaded
  if (relay) placeRelay(config, originOf)
  logFormat(context)
  await refuseSecond(context)
  const lineage = relay ? undefined : sayContinued(context, loaded)

  const starting = new AbortController()
  const interrupted = new WaggleError('E_USAGE', 'interrupted')
  const progress = createProgressLine(context)
  let node: NodeHandle | undefined
  const signals = createStopSignals(io)
  const service = openService(context, () => node)
  const stop = (words: string): void => {
    context.say(words)
    service.stopping()
    starting.abort(interrupted)
    node
      ?.stop(undefined, { onProgress: progress.show })
      .catch((error) => context.say(`error: ${messageOf(error)}`))
  }
  const offSignals = io.onSignal((signal) => {
    const asked = signals.take()
    if (asked === 'exit') io.exit(128 + (SIGNAL_NUMBER[signal] ?? 2))
    if (asked === 'stop')
      stop(`Stopping${relay ? '' : ': saving a checkpoint'}. Press Ctrl-C again to stop at once.`)
  })
  // `waggle up | head`, or a closed terminal: stops as with Ctrl-C.
  const gone = (): void => {
    if (signals.take() === 'stop') stop('Stopping: the output was closed.')
  }
  io.onReaderGone(gone)
  const offRequests = io.onRequest((signal) => {
    if (signal === 'SIGHUP' && io.terminalGone()) return gone()
    if (node) void answerSignal(signal, context, node)
  })

  let narrator: ReturnType<typeof createNarrator> | undefined
  let record: ReturnType<typeof createRunFile> | undefined
  try {
    // Downloaded here, where a progress bar can be shown. The node then finds it in the cache.
    const { path: model } = config.model
    if (!relay && model !== 'default' && !isAbsolute(model)) {
      await (await import('../model/locate.ts')).locateModel(context, model)
    }
    const { runNode } = await (relay ? io.loadRelay() : io.loadNode())
    node = await runNode({
      config,
      readConfig: (settings) => contextConfig(context, settings).config,
      checkConfig: (settings) => checkedConfig({ ...context, say: () => {} }, settings),
      paths,
      lineage,
      ...(join !== undefined && isInvite(join) && { invite: join }),
      signal: starting.signal,
      interrupt: () => starting.abort(interrupted),
      onProgress: progress.show,
    })
    progress.end()
    // Avoids an unhandled rejection before the await below.
    node.whenStopped.catch(() => {})
    const running = node
    narrator = createNarrator(
      context,
      node,
      config.tasks.map(({ name }) => name),
      { clearLine: progress.end },
    )
    record = createRunFile(
      { directory: paths.runs, config: stringify(config) },
      { events: node.events, snapshot: () => running.snapshot(), clock: io.clock },
    )
    if (starting.signal.aborted) await node.stop()
    else {
      narrator.introduce()
      service.ready()
    }
    if (join !== undefined && !starting.signal.aborted) await joinOrStop({ context, progress }, node, join)
    return await node.whenStopped
  } catch (error) {
    // Interrupted during the start, by a signal or by `waggle stop`: there is nothing to report.
    if (signals.isAsked && node === undefined) return EXIT.interrupted
    if (error === interrupted) return EXIT.ok
    throw error
  } finally {
    progress.end()
    service.close()
    narrator?.close()
    await record?.close()
    offSignals()
    offRequests()
  }
}

/** systemd, if this runs as one of its services. */
function openService({ io, say }: Context, node: () => NodeHandle | undefined) {
  const every = (run: () => void, ms: number) => {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  }
  const status = (): string => {
    const now = node()?.snapshot()
    return now ? statusLine(now) : 'stopping'
  }
  const send = sendBySystemdNotify((why) =>
    say(`systemd-notify does not work (${why}): see docs/services.md`),
  )
  return createServiceManager({ env: io.env, pid: process.pid }, { send, status, every })
}

/** If the peer is not found yet, the search continues while the node trains. Any other failure stops the node. */
async function joinOrStop(
  { context, progress }: { context: Context; progress: ReturnType<typeof createProgressLine> },
  node: NodeHandle,
  target: string,
): Promise<void> {
  try {
    const peer = await node.join({ target }, { onProgress: progress.show }).finally(progress.end)
    context.say(`joined    ${safeText(peer.name)}  ${safeText(peer.peerId)}`)
    if (peer.weights) context.say(`          ${metText(peer.weights, context.io)}`)
  } catch (error) {
    if (error instanceof WaggleError && error.data?.searching === true) {
      context.say(`searching ${error.message}. Meanwhile the node trains alone.`)
      if (error.hint) context.say(`          ${error.hint}`)
      return
    }
    await node.stop()
    await node.whenStopped.catch(() => {})
    throw error
  }
}

/** Other nodes know a relay by its address, so its default ports are fixed. */
function placeRelay({ swarm }: Config, originOf: Loaded['originOf']): void {
  if (originOf(['swarm', 'listen']) === undefined) swarm.listen = ['/ip4/0.0.0.0/tcp/4001']
  if (originOf(['swarm', 'stun_port']) === undefined) swarm.stun_port = 3478
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
