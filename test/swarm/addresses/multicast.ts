// Whether mDNS can be tried here.

import { createSocket } from 'node:dgram'

/** mDNS needs a route for multicast and a port that several may share; some sandboxes have neither. */
export const multicast = await new Promise<boolean>((resolve) => {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  const done = (works: boolean) => {
    socket.close()
    resolve(works)
  }
  socket.on('error', () => done(false))
  socket.bind(5353, () => {
    try {
      socket.addMembership('224.0.0.251')
      socket.send('', 5353, '224.0.0.251', (error) => done(!error))
    } catch {
      done(false)
    }
  })
})
