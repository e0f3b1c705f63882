// A router on loopback that speaks UPnP as far as forwarding ports goes: a description over HTTP, the three actions, and
// an answer to who searches. What it does can be changed while it runs.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ScriptedRouter {
  location: URL
  /** Where it listens for searches. */
  ssdp: { address: string; port: number }
  /** External port -> what it leads to and for how many seconds. */
  ports: Map<number, { to: string; lease: number }>
  calls: string[]
  behaviour: {
    version: 1 | 2
    ip: string
    /** Error codes that AddPortMapping answers with, one a call, before it does as it is told. */
    refuse: number[]
    /** In place of the description. */
    description?: string
  }
  stop(): Promise<void>
}

const field = (xml: string, name: string) => new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1] ?? ''

export async function scriptedRouter(): Promise<ScriptedRouter> {
  const ports: ScriptedRouter['ports'] = new Map()
  const calls: string[] = []
  const behaviour: ScriptedRouter['behaviour'] = { version: 2, ip: '5.9.0.11', refuse: [] }
  const service = () => `urn:schemas-upnp-org:service:WANIPConnection:${behaviour.version}`

  const act = (action: string, xml: string): [status: number, xml: string] => {
    const port = Number(field(xml, 'NewExternalPort'))
    if (action === 'AddPortMapping') {
      const error = behaviour.refuse.shift()
      if (error !== undefined)
        return [500, `<errorCode>${error}</errorCode><errorDescription>No\u001b!</errorDescription>`]
      const to = `${field(xml, 'NewInternalClient')}:${field(xml, 'NewInternalPort')}`
      ports.set(port, { to, lease: Number(field(xml, 'NewLeaseDuration')) })
    }
    if (action === 'DeletePortMapping') {
      if (field(xml, 'NewProtocol') !== 'TCP' || !ports.delete(port))
        return [500, '<errorCode>714</errorCode>']
    }
    return [200, `<NewExternalIPAddress>${behaviour.ip}</NewExternalIPAddress>`]
  }
  const http = createServer(async (request, response) => {
    let xml = ''
    for await (const chunk of request) xml += chunk
    if (request.method === 'GET')
      return void response.end(
        behaviour.description ??
          `<root><device><serviceList><service><serviceType>${service()}</serviceType><controlURL>/ctl</controlURL></service></serviceList></device></root>`,
      )
    const [type, action = ''] = String(request.headers.soapaction).replaceAll('"', '').split('#')
    calls.push(action)
    const [status, body] = type === service() ? act(action, xml) : [500, '<errorCode>401</errorCode>']
    response.writeHead(status).end(`<s:Envelope><s:Body>${body}</s:Body></s:Envelope>`)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const location = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/root.xml`)

  const ssdp = createSocket('udp4')
  ssdp.on('message', (datagram, { port, address }) => {
    const target = `urn:schemas-upnp-org:device:InternetGatewayDevice:${behaviour.version}`
    if (!datagram.toString().includes(`ST: ${target}\r\n`)) return
    ssdp.send(`HTTP/1.1 200 OK\r\nST: ${target}\r\nLOCATION: ${location}\r\n\r\n`, port, address)
  })
  ssdp.bind(0, '127.0.0.1')
  await once(ssdp, 'listening')
  return {
    location,
    ssdp: { address: '127.0.0.1', port: ssdp.address().port },
    ports,
    calls,
    behaviour,
    async stop() {
      ssdp.close()
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
}
