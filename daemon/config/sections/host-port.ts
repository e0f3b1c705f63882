// host:port, as in control.listen and swarm.stun.

import { z } from 'zod'

/** 0 to 65535, in at most five digits. */
const PORT = String.raw`(?:\d{1,4}|[0-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])`
const HOST = String.raw`(\[[0-9a-fA-F:]+\]|[^\s:[\]/]+)`
const HOST_PORT = new RegExp(`^${HOST}:${PORT}$`)

/** A pattern alone, so that the JSON schema says it, too. */
export const hostPort = (example: string) =>
  z.string().regex(HOST_PORT, `must be host:port, such as ${example}, with a port up to 65535`)
