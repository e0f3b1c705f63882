// One home router that forwards ports: reads its description and calls its actions (UPnP Device Architecture 1.1, SOAP
// 1.1; WANIPConnection:1 and :2, WANPPPConnection:1). Uses only actions that all three services have. The answer may
// come from any machine on the network, so its size is limited, a few fields are matched instead of parsing the XML,
// and redirects to other machines are not followed. General XML and SOAP clients lack these limits, hence our own code.

import { safeText } from '../../../protocol/text.ts'
import type { Clock } from '../types.ts'
import type { Forwarding, Gateway } from './gateway.ts'
import { field, request } from './upnp-request.ts'

const SERVICES = ['WANIPConnection:2', 'WANIPConnection:1', 'WANPPPConnection:1'].map(
  (name) => `urn:schemas-upnp-org:service:${name}`,
)
/** Maximum number of services; a router has about a dozen. */
const MAX_SERVICES = 64
/** Error codes of WANIPConnection:2, table 2-26. */
const CONFLICT = 718
const SAME_PORTS_ONLY = 724
const PERMANENT_ONLY = 725

/** The router understood the request and refused it. */
class Refusal extends Error {
  readonly status: number
  constructor(status: number, text: string) {
    super(`the router refuses: ${safeText(text, { limit: 80, line: true }) || 'no reason given'} (${status})`)
    this.status = status
  }
}

interface Service {
  type: string
  control: URL
}

export class UpnpGateway implements Gateway {
  readonly location: URL
  private readonly services: readonly Service[]
  private readonly clock: Pick<Clock, 'after'>
  private service: Service | undefined

  private constructor(location: URL, services: readonly Service[], clock: Pick<Clock, 'after'>) {
    this.clock = clock
    this.location = location
    this.services = services
  }

  static async at(
    location: URL,
    parts: { clock: Pick<Clock, 'after'>; signal: AbortSignal },
  ): Promise<UpnpGateway> {
    const { body } = await request(location, {}, parts)
    const base = URL.parse(field(body, 'URLBase') ?? '') ?? location
    const services = body.split('</service>').slice(0, MAX_SERVICES)
    const found = services.flatMap((part) => {
      const text = part.slice(part.lastIndexOf('<service>') + 1)
      const type = field(text, 'serviceType') ?? ''
      const control = URL.parse(field(text, 'controlURL') ?? '', base.href)
      const isOwn = control?.protocol === 'http:' && control.hostname === location.hostname
      return SERVICES.includes(type) && isOwn ? [{ type, control }] : []
    })
    if (found.length === 0) throw new Error('the router forwards no ports')
    return new UpnpGateway(
      location,
      found.sort((a, b) => SERVICES.indexOf(a.type) - SERVICES.indexOf(b.type)),
      parts.clock,
    )
  }

  /** The external address. From now on, uses the first of the router's connections that has one. */
  async externalIp(signal: AbortSignal): Promise<string> {
    let trouble: unknown
    for (const service of this.services) {
      this.service = service
      try {
        const ip = field(await this.call('GetExternalIPAddress', [], signal), 'NewExternalIPAddress') ?? ''
        if (/^\d{1,3}(\.\d{1,3}){3}$/.test(ip) && ip !== '0.0.0.0') return ip
      } catch (error) {
        trouble = error
      }
    }
    throw trouble ?? new Error('the router has no address on the internet')
  }

  /** Creates or renews a forwarding. If another device holds the external port, `nextPort` proposes another. */
  async forward(
    { internalIp, internalPort, externalPort }: Forwarding,
    { leaseSeconds, nextPort, signal }: { leaseSeconds: number; nextPort(): number; signal: AbortSignal },
  ): Promise<number> {
    let port = externalPort
    let lease = leaseSeconds
    for (let tries = 4; ; tries--) {
      try {
        await this.call(
          'AddPortMapping',
          [
            ...named(port),
            ['NewInternalPort', internalPort],
            ['NewInternalClient', internalIp],
            ['NewEnabled', 1],
            ['NewPortMappingDescription', 'waggle'],
            ['NewLeaseDuration', lease],
          ],
          signal,
        )
        return port
      } catch (error) {
        const status = error instanceof Refusal ? error.status : undefined
        if (tries <= 1) throw error
        if (status === CONFLICT) port = nextPort()
        else if (status === SAME_PORTS_ONLY && port !== internalPort) port = internalPort
        else if (status === PERMANENT_ONLY && lease !== 0) lease = 0
        else throw error
      }
    }
  }

  async remove(externalPort: number, signal: AbortSignal): Promise<void> {
    await this.call('DeletePortMapping', named(externalPort), signal)
  }

  private async call(action: string, args: Argument[], signal: AbortSignal): Promise<string> {
    const { type, control } = this.service ?? this.services[0]!
    const text = args.map(([name, value]) => `<${name}>${value}</${name}>`).join('')
    const { ok, status, body } = await request(
      control,
      {
        method: 'POST',
        headers: { 'content-type': 'text/xml; charset="utf-8"', soapaction: `"${type}#${action}"` },
        body: `<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body><u:${action} xmlns:u="${type}">${text}</u:${action}></s:Body></s:Envelope>`,
      },
      { clock: this.clock, signal },
    )
    if (!ok)
      throw new Refusal(Number(field(body, 'errorCode') ?? status), field(body, 'errorDescription') ?? '')
    return body
  }
}

type Argument = [name: string, value: string | number]
const named = (externalPort: number): Argument[] => [
  ['NewRemoteHost', ''],
  ['NewExternalPort', externalPort],
  ['NewProtocol', 'TCP'],
]
