// Direct connections between two nodes behind NATs, by WebRTC: each node learns its external address from a STUN server
// and tells the other through the relay; both then send until a packet gets through. Needs an optional native package,
// which is loaded only if the config asks for it. Not for private swarms, since their key does not protect WebRTC.

import type { Multiaddr } from '@multiformats/multiaddr'
import { WaggleError } from '../../../protocol/errors.ts'

const WEBRTC_PACKAGE = '@libp2p/webrtc@6.0.33'

interface WebRtcOptions {
  /** `host:port` of STUN servers, read for each connection. */
  stun: () => readonly string[]
}

/** `load` imports the package. Rejects with E_CONFIG and the install command if it is missing. */
export async function webRtcTransport(
  { stun }: WebRtcOptions,
  load: () => Promise<typeof import('@libp2p/webrtc')> = () => import('@libp2p/webrtc'),
) {
  let module: typeof import('@libp2p/webrtc')
  try {
    module = await load()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const missing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
    throw new WaggleError(
      'E_CONFIG',
      missing
        ? 'swarm.webrtc is on, and WebRTC is not installed'
        : `swarm.webrtc is on, and WebRTC cannot be loaded: ${message}`,
      {
        hint: `Install it with \`npm install ${WEBRTC_PACKAGE}\` in the folder of Waggle, or set swarm.webrtc = false.`,
        cause,
      },
    )
  }
  return module.webRTC({
    rtcConfiguration: () => ({ iceServers: stun().map((server) => ({ urls: `stun:${server}` })) }),
  })
}

/** The addresses that lead to a direct WebRTC connection. */
export function webRtcAddresses(addresses: readonly Multiaddr[]): Multiaddr[] {
  return addresses.filter((address) => {
    const names = address.getComponents().map(({ name }) => name)
    return names.includes('webrtc') && names.includes('p2p-circuit')
  })
}
