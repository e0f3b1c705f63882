// The client for `--on`: another socket on this machine, a TCP address with a token, or another machine over ssh. With
// ssh, the control socket is forwarded, so neither an open port nor a token is needed.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlClient } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { safeText } from '../../protocol/text.ts'
import { createClient } from '../control/api/client.ts'

const FORWARD_WITHIN_MS = 60_000
const POLL_MS = 50

interface RemoteOptions {
  /** unix:///path, http://host:port, ssh://[user@]host[:port][/path/of/the/socket] */
  on: string
  /** For http:// addresses: the token, or the file that has it. */
  token?: string | undefined
  tokenFile?: string | undefined
}

interface RemoteParts {
  tmpdir: string
  /** Calls `run` before this process exits. */
  atExit: (run: () => void) => void
}

export function createRemoteClient(
  { on, token: given, tokenFile }: RemoteOptions,
  { tmpdir, atExit }: RemoteParts,
): ControlClient {
  const url = URL.canParse(on) ? new URL(on) : undefined
  switch (url?.protocol) {
    case 'unix:':
      return createClient({ socket: decodeURIComponent(url.pathname) })
    case 'http:': {
      const token = tokenFile === undefined ? given : readToken(tokenFile)
      return createClient({ host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80), token })
    }
    case 'ssh:':
      return throughSsh(url, { tmpdir, atExit })
    default:
      throw new WaggleError(
        'E_USAGE',
        `invalid address for --on: "${safeText(on, { limit: 100, line: true })}"`,
        {
          hint: 'Use ssh://host, unix:///path/of/control.sock, or http://host:port with --token-file FILE.',
        },
      )
  }
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new WaggleError('E_USAGE', `cannot read the token in ${file}: ${(cause as Error).message}`, {
      hint: 'The tokens are in control-read.token and control-admin.token, in the state folder of the node.',
      cause,
    })
  }
}

interface Tunnel {
  /** Path of the local socket, once it exists. */
  socket: Promise<string>
  child?: ChildProcess
  folder?: string
}

function throughSsh(url: URL, { tmpdir, atExit }: RemoteParts): ControlClient {
  const { hostname, username, port, pathname } = url
  // ssh would read a name that starts with a dash as an option.
  if (!/^[A-Za-z0-9][\w.-]*$/.test(hostname) || !/^([A-Za-z0-9_][\w.-]*)?$/.test(username)) {
    throw new WaggleError('E_USAGE', `"${safeText(url.href, { line: true })}" is not the name of a machine`, {
      hint: 'For example ssh://ada@box.',
    })
  }
  const destination = [...(port ? ['-p', port] : []), '--', username ? `${username}@${hostname}` : hostname]
  const asked = pathname.length > 1 ? decodeURIComponent(pathname) : undefined
  let tunnel: Tunnel | undefined

  const close = (): void => {
    tunnel?.child?.kill()
    if (tunnel?.folder) rmSync(tunnel.folder, { recursive: true, force: true })
    tunnel = undefined
  }
  atExit(close)

  const open = async (): Promise<ControlClient> => {
    // Set without an await before it, so that concurrent calls share one tunnel.
    tunnel ??= openTunnel()
    return createClient({ socket: await tunnel.socket })
  }

  function openTunnel(): Tunnel {
    const opened: Tunnel = { socket: Promise.resolve('') }
    const path = asked === undefined ? remoteSocket(destination, hostname) : Promise.resolve(asked)
    opened.socket = path.then((remote) => forward(opened, remote))
    opened.socket.catch(() => {
      if (tunnel === opened) close()
    })
    return opened
  }

  async function forward(opened: Tunnel, remote: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir, 'waggle-ssh-'))
    const local = join(folder, 's')
    const child = spawn(
      'ssh',
      [
        '-N',
        '-T',
        '-o',
        'ExitOnForwardFailure=yes',
        '-o',
        'ServerAliveInterval=15',
        '-L',
        `${local}:${remote}`,
        ...destination,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    Object.assign(opened, { child, folder })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000)
    })
    let ended: string | undefined
    const end = (why: string): void => {
      ended = why
      // The next call opens a new tunnel.
      if (tunnel === opened) close()
    }
    child.once('error', (error) => end(error.message))
    child.once('exit', () => end(said.trim().split('\n').at(-1) || 'ssh exited'))
    for (let waited = 0; !existsSync(local); waited += POLL_MS) {
      if (ended !== undefined || waited > FORWARD_WITHIN_MS) throw noSsh(hostname, ended ?? 'timed out')
      await sleep(POLL_MS)
    }
    return local
  }

  return {
    health: async (options) => (await open()).health(options),
    snapshot: async (options) => (await open()).snapshot(options),
    series: async (query, options) => (await open()).series(query, options),
    groups: async (query, options) => (await open()).groups(query, options),
    async *events(options) {
      yield* (await open()).events(options)
    },
    send: async (name, request, options) => (await open()).send(name, request, options),
  }
}

/** Path of the other machine's control socket, as `waggle config path` there prints it. */
async function remoteSocket(destination: string[], host: string): Promise<string> {
  const child = spawn('ssh', ['-T', ...destination, 'waggle', 'config', 'path', '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let answer = ''
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000)
  })
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (status) =>
      resolve(status === 0 ? undefined : said.trim().split('\n').at(-1) || `status ${status}`),
    )
  })
  if (failure !== undefined) throw noSsh(host, failure)
  try {
    const { socket } = JSON.parse(answer) as { socket: string }
    if (typeof socket === 'string' && socket.startsWith('/')) return socket
  } catch {
    // Reported below.
  }
  throw noSsh(host, '`waggle config path` there gave an unexpected answer')
}

function noSsh(host: string, why: string): WaggleError {
  return new WaggleError(
    'E_CONTROL',
    `cannot reach the daemon on ${host} over ssh: ${safeText(why, { line: true })}`,
    {
      hint: `Try \`ssh ${host} waggle status\`. If waggle is not on the PATH there, give the socket: ssh://${host}/path/of/control.sock.`,
    },
  )
}
