// The nodes of `--all`: a file with a line for each, `NAME ADDRESS [TOKEN]`. An address is that of --on, or the home of a
// node on this machine. The list belongs to whoever watches; no node knows it.

import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { ControlClient, Snapshot } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { resolvePaths } from '../../config/paths.ts'
import { createClient } from '../../control/api/client.ts'
import { isOpenToOthers } from '../../platform/index.ts'
import type { Context } from '../contract.ts'
import { createRemoteClient } from '../remote.ts'

const MAX_NODES = 256
const NAME = /^[\w.-]{1,40}$/

export interface FleetNode {
  name: string
  address: string
  client: ControlClient
}

interface FleetLine {
  name: string
  address: string
  token: string | undefined
}

export type Answer = Pick<FleetNode, 'name' | 'address'> & ({ snapshot: Snapshot } | { error: WaggleError })

/** Throws E_USAGE. */
export function fleetOf({ io, options, paths }: Pick<Context, 'io' | 'options' | 'paths'>): FleetNode[] {
  const given = options.fleet as string | undefined
  const file = given === undefined ? join(dirname(paths.config), 'fleet') : resolve(io.cwd, given)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new WaggleError('E_USAGE', `cannot read the list of nodes ${file}: ${(cause as Error).message}`, {
      hint: 'Write a line for each node: its name, its address as for --on or its home, and a token for http://.',
      cause,
    })
  }
  const lines = parseFleet(text, file)
  if (lines.some(({ token }) => token !== undefined) && isOpenToOthers(statSync(file).mode))
    throw new WaggleError('E_USAGE', `${file} has tokens, and other users can read it`, {
      hint: `Run \`chmod 600 ${file}\`.`,
    })
  return lines.map(({ name, address, token }) => ({
    ...{ name, address },
    client: /^\w+:\/\//.test(address)
      ? createRemoteClient({ on: address, token }, { tmpdir: io.tmpdir, atExit: io.atExit })
      : createClient({ socket: resolvePaths({ home: resolve(dirname(file), address) }, io).socket }),
  }))
}

export function parseFleet(text: string, file: string): FleetLine[] {
  const nodes: FleetLine[] = []
  const wrong = (line: number, why: string): WaggleError =>
    new WaggleError('E_USAGE', `${file}:${line} ${why}`, {
      hint: 'For example: box ssh://ada@box, or: second http://10.0.0.7:4190 TOKEN',
    })
  text.split('\n').forEach((line, i) => {
    const [name, address, token, ...rest] = line
      .replace(/(^|\s)#.*/, '')
      .split(/\s+/)
      .filter(Boolean)
    if (name === undefined) return
    if (!NAME.test(name)) throw wrong(i + 1, 'begins with no name: letters, digits, dots and dashes')
    if (address === undefined) throw wrong(i + 1, `has no address for ${name}`)
    if (/^(?!ssh:|http:|unix:)\w+:\/\//.test(address))
      throw wrong(i + 1, `has an address for ${name} that begins with none of ssh://, http:// and unix://`)
    if (rest.length > 0) throw wrong(i + 1, 'has more than a name, an address and a token')
    if (nodes.some((other) => other.name === name)) throw wrong(i + 1, `has ${name} a second time`)
    if (nodes.length >= MAX_NODES) throw wrong(i + 1, `is one node too many: ${MAX_NODES} can be shown`)
    nodes.push({ name, address, token })
  })
  if (nodes.length === 0) throw wrong(1, 'lists no node')
  return nodes
}

/** Never rejects. `late` resolves when the node has had its time. */
export async function ask(
  { name, address, client }: FleetNode,
  late: () => Promise<unknown>,
): Promise<Answer> {
  const timeout = late().then(() => {
    throw new WaggleError('E_CONTROL', 'no answer in time')
  })
  try {
    return { name, address, snapshot: await Promise.race([client.snapshot(), timeout]) }
  } catch (error) {
    const known = error instanceof WaggleError
    return {
      ...{ name, address },
      error: known ? error : new WaggleError('E_CONTROL', String((error as Error).message)),
    }
  }
}
