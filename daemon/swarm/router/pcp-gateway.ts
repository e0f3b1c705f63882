// A router that forwards ports by the Port Control Protocol (RFC 6887) or its predecessor NAT-PMP (RFC 6886), which
// uses the same UDP port. With IPv6, PCP opens the firewall (a pinhole) and keeps address and port. Each request has
// one response. The connected socket accepts datagrams only from that router, and PCP responses also echo our nonce.

import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Hop } from './default-gateway.ts'
import type { Forwarding, Gateway } from './gateway.ts'

const PORT = 5351
/** In ms. Datagrams get lost, so a request is repeated after these times; the last is the time left for an answer. */
const PATIENCE_MS = [250, 500, 750]
/**
 * After a crash, the router reserves the port for the crashed node's nonce until the mapping expires. Mappings are
 * renewed every five minutes.
 */
const LONGEST_LEASE_S = 900
const PCP = { version: 2, map: 1, bytes: 60 }
const PMP = { version: 0, address: 0, mapTcp: 2 }
const TCP = 6
/**
 * PCP reports the external address only with a mapping, so the port is first mapped for a minute. RFC 6887, 11.6,
 * proposes port 9 for this, which many routers refuse.
 */
const LOOK_LEASE_S = 60
/** By result code: RFC 6887, 7.4, and RFC 6886, 3.5. */
const PCP_RESULTS = [
  'done',
  'it does not know this version',
  'it does not allow it',
  'the request is malformed',
  'it does not know this operation',
  'it does not know this option',
  'an option is malformed',
  'it has no outside address',
  'it has no resources left',
  'it does not know this protocol',
  'this device has used up its share',
  'it cannot give this outside address',
  'the addresses differ: there is another router in between',
  'there are too many peers',
]
const PMP_RESULTS = [
  'done',
  'it does not know this version',
  'it does not allow it',
  'it has no outside address',
  'it has no resources left',
  'it does not know this operation',
]

type Speaks = 'PCP' | 'NAT-PMP'

/** The router has not answered. */
export class Silence extends Error {}

export class PcpGateway implements Gateway {
  private readonly hop: Hop
  private readonly internalPort: number
  private readonly port: number
  private readonly nonce = randomBytes(12)
  private speaks: Speaks = 'PCP'
  /** External port -> internal port, needed to remove a mapping. */
  private readonly mapped = new Map<number, number>()

  private constructor(hop: Hop, internalPort: number, port: number) {
    this.hop = hop
    this.internalPort = internalPort
    this.port = port
  }

  /** `internalPort` is one that will be forwarded; `port` is for tests. Rejects with Silence if nothing answers. */
  static async at(
    hop: Hop,
    {
      internalPort,
      signal,
      port = PORT,
    }: { internalPort: number; signal: AbortSignal; port?: number | undefined },
  ): Promise<PcpGateway> {
    const gateway = new PcpGateway(hop, internalPort, port)
    try {
      const answer = await gateway.ask(gateway.pcpMap(internalPort, internalPort, LOOK_LEASE_S), signal)
      // A NAT-PMP router answers, in its own version, that it does not support this one.
      if (answer[0] !== PCP.version) gateway.speaks = 'NAT-PMP'
      if (gateway.speaks === 'NAT-PMP' && isIPv6(hop.from))
        throw new Error('the router speaks only NAT-PMP, which knows no IPv6')
    } catch (error) {
      if (!(error instanceof Silence) || isIPv6(hop.from)) throw error
      gateway.speaks = 'NAT-PMP'
      await gateway.ask(Buffer.from([PMP.version, PMP.address]), signal)
    }
    return gateway
  }

  async externalIp(signal: AbortSignal): Promise<string> {
    const { speaks, internalPort } = this
    if (speaks === 'PCP') return (await this.map(internalPort, internalPort, LOOK_LEASE_S, signal)).ip
    const answer = await this.ask(Buffer.from([PMP.version, PMP.address]), signal)
    checkPmp(answer, 12)
    return [...answer.subarray(8, 12)].join('.')
  }

  async forward(
    { internalPort, externalPort }: Forwarding,
    { leaseSeconds, signal }: { leaseSeconds: number; signal: AbortSignal },
  ): Promise<number> {
    const lease = Math.min(leaseSeconds, LONGEST_LEASE_S)
    // If this port is taken, the router chooses another.
    const { port } = await this.map(internalPort, externalPort, lease, signal)
    this.mapped.set(port, internalPort)
    return port
  }

  async remove(externalPort: number, signal: AbortSignal): Promise<void> {
    const internalPort = this.mapped.get(externalPort)
    if (internalPort === undefined) return
    await this.map(internalPort, 0, 0, signal)
    this.mapped.delete(externalPort)
  }

  private async map(
    internalPort: number,
    externalPort: number,
    leaseSeconds: number,
    signal: AbortSignal,
  ): Promise<{ ip: string; port: number }> {
    if (this.speaks === 'PCP') {
      const answer = await this.ask(this.pcpMap(internalPort, externalPort, leaseSeconds), signal)
      if (answer[0] !== PCP.version || answer.length < PCP.bytes)
        throw new Error('the router’s answer is malformed')
      const result = answer[3]!
      if (result !== 0) throw refusal(PCP_RESULTS[result], result)
      const ip = textOf(answer.subarray(44, 60))
      if (isIPv6(ip) !== isIPv6(this.hop.from)) throw new Error('the router’s answer is malformed')
      return { ip, port: answer.readUInt16BE(42) }
    }
    const request = Buffer.alloc(12)
    request.set([PMP.version, PMP.mapTcp])
    request.writeUInt16BE(internalPort, 4)
    request.writeUInt16BE(externalPort, 6)
    request.writeUInt32BE(leaseSeconds, 8)
    const answer = await this.ask(request, signal)
    checkPmp(answer, 16)
    return { ip: '', port: answer.readUInt16BE(10) }
  }

  private pcpMap(internalPort: number, externalPort: number, leaseSeconds: number): Buffer {
    const request = Buffer.alloc(PCP.bytes)
    request.set([PCP.version, PCP.map])
    request.writeUInt32BE(leaseSeconds, 4)
    request.set(bytesOf(this.hop.from), 8)
    request.set(this.nonce, 24)
    request[36] = TCP
    request.writeUInt16BE(internalPort, 40)
    request.writeUInt16BE(externalPort, 42)
    // Any external address.
    request.set(bytesOf(isIPv6(this.hop.from) ? '::' : '0.0.0.0'), 44)
    return request
  }

  /** Resolves with the first answer to this request. */
  private ask(request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const { gateway, from } = this.hop
    return new Promise((resolve, reject) => {
      const socket = createSocket(isIPv6(from) ? 'udp6' : 'udp4')
      let timer: NodeJS.Timeout | undefined
      const end = (then: () => void): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
        socket.removeAllListeners('message')
        socket.close()
        then()
      }
      const abort = (): void => end(() => reject(signal.reason))
      let tries = 0
      const send = (): void => {
        const patience = PATIENCE_MS[tries++]
        if (patience === undefined) {
          end(() => reject(new Silence('the router does not answer')))
          return
        }
        // A send error is treated as no answer.
        socket.send(request, () => {})
        timer = setTimeout(send, patience)
      }
      // Before the first request: this machine no longer has the address. Later errors, such as a closed port, are
      // ignored.
      socket.on('error', (error) => {
        if (tries === 0) end(() => reject(new Silence(error.message)))
      })
      socket.on('message', (answer: Buffer) => {
        if (answers(answer, request)) end(() => resolve(answer))
      })
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort, { once: true })
      socket.bind({ address: from, port: 0, exclusive: true }, () =>
        socket.connect(this.port, gateway, (error?: Error) =>
          error ? end(() => reject(new Silence(error.message))) : send(),
        ),
      )
    })
  }
}

function answers(answer: Buffer, request: Buffer): boolean {
  if (answer.length < 4) return false
  // NAT-PMP's answer that it does not support PCP; it may or may not repeat the opcode.
  if (request[0] === PCP.version && answer[0] === PMP.version) return answer.readUInt16BE(2) === 1
  if (answer[0] !== request[0] || answer[1] !== (request[1]! | 0x80)) return false
  if (request[0] === PMP.version)
    return (
      request[1] === PMP.address || answer.length < 16 || answer.readUInt16BE(8) === request.readUInt16BE(4)
    )
  // An error response may be shorter than the request, or lack its content.
  if (answer[3] !== 0) return true
  return (
    answer.length >= PCP.bytes &&
    answer.subarray(24, 36).equals(request.subarray(24, 36)) &&
    answer.readUInt16BE(40) === request.readUInt16BE(40)
  )
}

function checkPmp(answer: Buffer, bytes: number): void {
  const result = answer.readUInt16BE(2)
  if (result !== 0) throw refusal(PMP_RESULTS[result], result)
  if (answer.length < bytes) throw new Error('the router’s answer is malformed')
}

function refusal(text: string | undefined, result: number): Error {
  return new Error(`the router refuses: ${text ?? 'no reason given'} (${result})`)
}

const MAPPED = [...new Array(10).fill(0), 255, 255]

/** The 16 bytes of an address; IPv4 addresses are mapped to IPv6. */
function bytesOf(ip: string): number[] {
  if (!isIPv6(ip)) return [...MAPPED, ...ip.split('.').map(Number)]
  const wordsOf = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16))
  const [before, after] = ip.split('::').map(wordsOf) as [number[], number[]?]
  const zeros = new Array(8 - before.length - (after?.length ?? 0)).fill(0)
  return [...before, ...zeros, ...(after ?? [])].flatMap((word) => [word >> 8, word & 255])
}

function textOf(bytes: Buffer): string {
  if (bytes.subarray(0, 12).equals(Buffer.from(MAPPED))) return [...bytes.subarray(12)].join('.')
  return bytes.toString('hex').match(/.{4}/g)!.join(':')
}
