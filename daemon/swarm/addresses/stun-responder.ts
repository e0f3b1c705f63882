// Answers STUN over UDP, so that a relay is all that two nodes behind NATs need to find a direct way. Who asks can forge his
// address, and the answer (at most 1.6 times the question over IPv4) would go to somebody else: so each address, each
// network and all together get a limited number of answers, and the rest silence.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { WaggleError } from '../../../protocol/errors.ts'
import { Quota } from '../admission/quota.ts'
import type { Clock } from '../types.ts'
import { answerStun } from './stun.ts'

/** A node asks about twice for each connection that it tries to make. */
const PER_ADDRESS = { perSecond: 5, burst: 20 }
/** /24, or /48 over IPv6: what one customer may own. */
const PER_NETWORK = { perSecond: 20, burst: 100 }
/** 1000 answers are 44 kB. */
const IN_ALL = { perSecond: 1000, burst: 2000 }

export interface StunResponder {
  /** Where it listens. */
  readonly port: number
  readonly answered: number
  /** Dropped for being too many. */
  readonly limited: number
  stop(): Promise<void>
}

/** Listens on all IPv4 addresses, and on IPv6 where the machine has it. Throws E_PORT. */
export async function startStunResponder(
  { port, host = '0.0.0.0' }: { port: number; host?: string },
  { clock }: { clock: Clock },
): Promise<StunResponder> {
  const quotas = {
    address: new Quota({ rate: PER_ADDRESS }, { clock }),
    network: new Quota({ rate: PER_NETWORK }, { clock }),
    all: new Quota({ rate: IN_ALL, keys: 1 }, { clock }),
  }
  let answered = 0
  let limited = 0
  const serve = (socket: Socket) =>
    socket.on('message', (datagram, { address, port: from }) => {
      const answer = answerStun(datagram, { address, port: from })
      if (answer === undefined) return
      if (
        !quotas.address.take(address) ||
        !quotas.network.take(networkOf(address)) ||
        !quotas.all.take('all')
      ) {
        limited++
        return
      }
      answered++
      // Who cannot be reached is not there any more.
      socket.send(answer, from, address, () => {})
    })

  const four = serve(await listen(createSocket('udp4'), port, host))
  const bound = four.address().port
  const six =
    host === '0.0.0.0'
      ? await listen(createSocket({ type: 'udp6', ipv6Only: true }), bound, '::').then(serve, () => undefined)
      : undefined
  return {
    port: bound,
    get answered() {
      return answered
    },
    get limited() {
      return limited
    },
    async stop() {
      await Promise.all(
        [four, six].map((socket) => socket && new Promise<void>((resolve) => socket.close(resolve))),
      )
    },
  }
}

async function listen(socket: Socket, port: number, address: string): Promise<Socket> {
  try {
    socket.bind({ port, address })
    await once(socket, 'listening')
    // Errors after this are of single packets.
    socket.on('error', () => {})
    return socket
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new WaggleError(
      'E_PORT',
      `cannot answer STUN on UDP port ${port}: ${code === 'EADDRINUSE' ? 'it is in use' : (code ?? cause)}`,
      { hint: 'Choose another with swarm.stun_port, or turn it off with 0.', data: { port }, cause },
    )
  }
}

function networkOf(address: string): string {
  const quad = /(\d+\.\d+\.\d+)\.\d+$/.exec(address)
  return quad ? quad[1]! : address.split(':').slice(0, 3).join(':')
}
