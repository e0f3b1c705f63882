// Answers STUN over UDP, so that two nodes behind NATs need nothing but a relay to connect directly. A sender can forge
// its address, and the answer (at most 1.6 times the request over IPv4) would then go to somebody else. So answers are
// rate limited per address, per network and in total; requests above a limit get no answer.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { WaggleError } from '../../../protocol/errors.ts'
import { Quota } from '../admission/quota.ts'
import type { Clock } from '../types.ts'
import { answerStun } from './stun.ts'

/** A node asks about twice for each connection attempt. */
const PER_ADDRESS = { perSecond: 5, burst: 20 }
/** Per /24, or /48 for IPv6: the range that one customer may own. */
const PER_NETWORK = { perSecond: 20, burst: 100 }
/** 1000 answers are 44 kB. */
const IN_ALL = { perSecond: 1000, burst: 2000 }

export interface StunResponder {
  /** The port that it listens on. */
  readonly port: number
  readonly answered: number
  /** Requests dropped because a limit was reached. */
  readonly limited: number
  stop(): Promise<void>
}

/** Listens on all IPv4 addresses, and on IPv6 if the machine has it. Throws E_PORT. */
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
      // Send errors are ignored: the sender may have gone.
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
    // Errors after binding concern single packets.
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
