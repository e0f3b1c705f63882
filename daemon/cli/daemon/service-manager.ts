// Tells systemd that the node is up, alive and stopping: sd_notify(3). Node.js has no datagram sockets of the local kind,
// so `systemd-notify` sends the messages; the unit needs NotifyAccess=all, as it is another process.

import { spawn } from 'node:child_process'

/** Without a watchdog. */
const STATUS_EVERY_MS = 60_000

interface ServiceManagerParts {
  /** Sends assignments such as READY=1. */
  send(words: readonly string[]): void
  /** The node's state in one line. */
  status(): string
  /** Calls `run` again and again; returns a function that ends it. */
  every(run: () => void, ms: number): () => void
}

interface ServiceManager {
  ready(): void
  stopping(): void
  close(): void
}

/** Does nothing if systemd does not listen. `env` and `pid`: of this process. */
export function createServiceManager(
  { env, pid }: { env: Record<string, string | undefined>; pid: number },
  { send, status, every }: ServiceManagerParts,
): ServiceManager {
  if (!env.NOTIFY_SOCKET) return { ready() {}, stopping() {}, close() {} }
  const isWatched = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === pid
  const limitMs = isWatched ? Number(env.WATCHDOG_USEC ?? 0) / 1000 : 0
  let end = (): void => {}
  const tell = (...words: string[]): void => send([...words, `STATUS=${status()}`])
  return {
    ready() {
      tell('READY=1')
      const alive = limitMs > 0 ? ['WATCHDOG=1'] : []
      end = every(
        () => tell(...alive),
        limitMs > 0 ? Math.min(STATUS_EVERY_MS, limitMs / 2) : STATUS_EVERY_MS,
      )
    },
    stopping: () => tell('STOPPING=1'),
    close: () => end(),
  }
}

/** Sends by `systemd-notify`. `onTrouble` is called once, if that cannot be done. */
export function sendBySystemdNotify(onTrouble: (why: string) => void): (words: readonly string[]) => void {
  let isTold = false
  const trouble = (why: string): void => {
    if (!isTold) onTrouble(why)
    isTold = true
  }
  return (words) => {
    const child = spawn('systemd-notify', [...words], { stdio: 'ignore' })
    child.once('error', ({ message }) => trouble(message))
    child.once('exit', (status) => status !== 0 && trouble(`status ${status}`))
    child.unref()
  }
}
