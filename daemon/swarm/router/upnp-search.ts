// Finds home routers that forward ports, by SSDP (UPnP Device Architecture 1.1, 1.3): a multicast request from each of
// this machine's addresses, answered by unicast. It asks for both gateway versions, since routers of version 1 do not
// answer requests for version 2. It sends from a free port, since another program may use 1900. Anyone on the network
// can answer, so an answer counts only if its URL is on the machine that sent it, and only a few answers are used.

import { createSocket } from 'node:dgram'

const GROUP = { address: '239.255.255.250', port: 1900 }
const TARGETS = [1, 2].map((version) => `urn:schemas-upnp-org:device:InternetGatewayDevice:${version}`)
/** In ms. UDP loses packets, so the request is repeated this long after the first. */
const REPEAT_MS = 700
const MAX_ANSWER_BYTES = 2048
const MAX_LOCATIONS = 8

export interface Found {
  /** URL of the gateway's description. */
  location: URL
  /** This machine's address on the gateway's network. */
  from: string
}

interface SearchOptions {
  /** This machine's IPv4 addresses to ask from. */
  from: readonly string[]
  signal: AbortSignal
  /** Where to send the request. Default: the multicast group. */
  to?: { address: string; port: number }
}

/** Reports each gateway once, as it answers, until the signal aborts. Addresses that cannot send are skipped. */
export function searchGateways(
  { from, signal, to = GROUP }: SearchOptions,
  { onFound }: { onFound(found: Found): void },
): Promise<void> {
  const seen = new Set<string>()
  const ask = (own: string) =>
    new Promise<void>((resolve) => {
      const socket = createSocket('udp4')
      let repeat: NodeJS.Timeout | undefined
      const end = () => {
        clearTimeout(repeat)
        signal.removeEventListener('abort', end)
        socket.removeAllListeners('message')
        socket.close(() => resolve())
      }
      socket.on('error', () => {
        // Closing a socket that was never bound throws again.
        socket.removeAllListeners('error').on('error', () => {})
        end()
      })
      socket.on('message', (datagram, { address }) => {
        const location = readAnswer(datagram, address)
        if (!location || seen.has(location.href) || seen.size >= MAX_LOCATIONS) return
        seen.add(location.href)
        onFound({ location, from: own })
      })
      socket.bind({ address: own, port: 0, exclusive: true }, () => {
        const send = () => {
          for (const target of TARGETS)
            socket.send(question(target), to.port, to.address, () => {
              // A missing route is treated as no answer.
            })
        }
        try {
          socket.setMulticastInterface(own)
        } catch {
          // The address is gone; sending will fail as well.
        }
        send()
        repeat = setTimeout(send, REPEAT_MS)
      })
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })
  return Promise.all(from.map(ask)).then(() => {})
}

function question(target: string): string {
  const lines = [
    'M-SEARCH * HTTP/1.1',
    `HOST: ${GROUP.address}:${GROUP.port}`,
    'MAN: "ssdp:discover"',
    'MX: 1',
  ]
  return `${[...lines, `ST: ${target}`].join('\r\n')}\r\n\r\n`
}

/** URL of the gateway's description, or undefined if this is not a gateway's own answer. */
export function readAnswer(datagram: Uint8Array, sender: string): URL | undefined {
  if (datagram.length > MAX_ANSWER_BYTES) return undefined
  const [status, ...lines] = Buffer.from(datagram).toString('latin1').split('\r\n')
  if (!/^HTTP\/1\.[01] 200\b/.test(status ?? '')) return undefined
  const header = (name: string) =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim()
  if (!TARGETS.includes(header('st') ?? '')) return undefined
  const location = URL.parse(header('location') ?? '')
  return location?.protocol === 'http:' && location.hostname === sender ? location : undefined
}
