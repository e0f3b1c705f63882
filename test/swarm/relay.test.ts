// A relay as `waggle relay` runs it: in this process, with its own home and control socket.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { resolvePaths } from '../../daemon/config/paths.ts'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { createClient } from '../../daemon/control/api/client.ts'
import { startBy } from '../../daemon/node/start/start.ts'
import { after } from '../../daemon/platform/index.ts'
import { run } from '../../daemon/relay.ts'
import { decodeInvite } from '../../protocol/wire/index.ts'
import { draft, startNode, stopNodes, until } from './helpers.ts'

const home = mkdtempSync(join(tmpdir(), 'waggle-relay-'))
afterEach(async () => {
  await stopNodes()
  rmSync(home, { recursive: true, force: true })
})

test('connects nodes with tasks that it does not have, answers the command line, and stops', async () => {
  const config = defaultConfig()
  Object.assign(config.swarm, { listen: ['/ip4/127.0.0.1/tcp/0'], lan: 'off', private: true, stun_port: 0 })
  const paths = resolvePaths(
    { home },
    { env: {}, cwd: '/', homedir: '/', tmpdir: tmpdir(), uid: 0, platform: process.platform },
  )
  const start = startBy(
    { area: 'relay', pid: process.pid, host: 'here', run: 'r1' },
    { load: async () => ({ run }), now: Date.now, monotonic: () => performance.now(), after },
  )
  const relay = await start({
    config,
    readConfig: () => config,
    checkConfig: async () => {},
    paths,
    signal: new AbortController().signal,
    interrupt: () => {},
    onProgress: () => {},
  })
  const client = createClient({ socket: paths.socket })
  const { invite } = await client.send('invite', {})
  const { psk, swarm, contacts } = decodeInvite(invite)
  expect(statSync(paths.membership).mode & 0o777).toBe(0o600)
  expect(contacts[0]!.peerId).toBe((await client.health()).peerId)

  const options = { swarm, psk: psk!, wide: true, listen: [], tasks: [{ name: 'sums', version: 1 }] }
  const a = await startNode(options)
  const b = await startNode(options)
  await a.swarm.join(invite)
  await b.swarm.join(invite)
  await until(
    'both in its mesh',
    () => relay.snapshot().swarm!.peers.filter((p) => p.state === 'mesh').length === 2,
  )
  await a.swarm.publish(draft(1))
  await until('the group', () => b.groups.length === 1)
  // The snapshot that is served lags behind the node's own.
  await expect
    .poll(() => client.snapshot(), { timeout: 20_000 })
    .toMatchObject({ state: 'RELAYING', swarm: { connected: 2 } })
  await expect(client.send('checkpoint', {})).rejects.toMatchObject({ code: 'E_USAGE' })
  await client.send('stop', {})
  expect(await relay.whenStopped).toBe(0)
})
