// A router on loopback that speaks PCP (RFC 6887), or NAT-PMP (RFC 6886) only, as far as forwarding TCP ports goes. It is
// written from the RFCs, not from our client.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'

export interface ScriptedPcpRouter {
  port: number
  /** Outside port -> what it leads to, for how many seconds, and who may change it. */
  ports: Map<number, { to: string; lease: number; nonce: string }>
  /** Datagrams that arrived, by protocol. */
  heard: { pcp: number; pmp: number }
  behaviour: {
    speaks: 'pcp' | 'pmp' | 'nothing'
    ip: string
    /** A result code for the requests that map a port; 0 is success. */
    result: number
    /** How many datagrams get lost before one arrives. */
    lose: number
    /** Sent before each answer. */
    noise: Buffer[]
  }
  stop(): Promise<void>
}

const octets = (ip: string): number[] => ip.split('.').map(Number)

export async function scriptedPcpRouter(): Promise<ScriptedPcpRouter> {
  const ports: ScriptedPcpRouter['ports'] = new Map()
  const heard = { pcp: 0, pmp: 0 }
  const behaviour: ScriptedPcpRouter['behaviour'] = {
    ...{ speaks: 'pcp', ip: '5.9.0.11', result: 0, lose: 0, noise: [] },
  }
  const socket = createSocket('udp4')

  /** Changes the table as asked; gives the outside port. */
  const assign = (asked: { inside: number; outside: number; lease: number; to: string; nonce: string }) => {
    const known = [...ports].find(([, { to }]) => to === asked.to)
    if (asked.lease === 0) {
      if (known) ports.delete(known[0])
      return 0
    }
    let outside = known?.[0] ?? (asked.outside || asked.inside)
    while (ports.has(outside) && ports.get(outside)!.to !== asked.to) outside += 1
    ports.set(outside, { to: asked.to, lease: asked.lease, nonce: asked.nonce })
    return outside
  }

  const pcp = (request: Buffer, from: string): Buffer => {
    const answer = Buffer.alloc(60)
    request.copy(answer)
    answer[1] = 0x81
    answer.fill(0, 2, 4)
    answer.fill(0, 8, 24)
    answer.writeUInt32BE(77, 8)
    const client = [...request.subarray(20, 24)].join('.')
    const isMapped = request.subarray(8, 20).toString('hex') === '00000000000000000000ffff'
    const inside = request.readUInt16BE(40)
    const nonce = request.subarray(24, 36).toString('hex')
    const to = `${client}:${inside}`
    const holder = [...ports.values()].find((one) => one.to === to)
    if (request.length !== 60 || request[1] !== 1) answer[3] = 4
    else if (!isMapped || client !== from) answer[3] = 12
    else if (request[36] !== 6) answer[3] = 9
    else if (holder && holder.nonce !== nonce) answer[3] = 2
    else if (inside < 1024) answer[3] = 2
    else answer[3] = behaviour.result
    if (answer[3] !== 0) return answer
    const lease = request.readUInt32BE(4)
    const outside = assign({ inside, outside: request.readUInt16BE(42), lease, to, nonce })
    answer.writeUInt16BE(outside, 42)
    answer.set([...new Array(10).fill(0), 255, 255, ...octets(behaviour.ip)], 44)
    return answer
  }

  const pmp = (request: Buffer, from: string): Buffer => {
    const [version, operation = 0] = request
    if (version !== 0) return Buffer.from([0, 128 + operation, 0, 1, 0, 0, 0, 77])
    if (operation === 0) return Buffer.from([0, 128, 0, 0, 0, 0, 0, 77, ...octets(behaviour.ip)])
    if (behaviour.result !== 0)
      return Buffer.from([0, 130, 0, behaviour.result, 0, 0, 0, 77, ...request.subarray(4, 12)])
    const inside = request.readUInt16BE(4)
    const lease = request.readUInt32BE(8)
    const outside = assign({
      inside,
      outside: request.readUInt16BE(6),
      lease,
      to: `${from}:${inside}`,
      nonce: '',
    })
    const answer = Buffer.alloc(16)
    answer.set([0, 130])
    answer.writeUInt16BE(inside, 8)
    answer.writeUInt16BE(outside, 10)
    answer.writeUInt32BE(lease, 12)
    return answer
  }

  socket.on('message', (request, { address, port }) => {
    heard[request[0] === 2 ? 'pcp' : 'pmp'] += 1
    if (behaviour.speaks === 'nothing') return
    if (behaviour.lose > 0) {
      behaviour.lose -= 1
      return
    }
    for (const noise of behaviour.noise) socket.send(noise, port, address)
    const answer =
      behaviour.speaks === 'pcp' && request[0] === 2 ? pcp(request, address) : pmp(request, address)
    socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    ...{ port: socket.address().port, ports, heard, behaviour },
    async stop() {
      socket.close()
      await once(socket, 'close')
    },
  }
}
