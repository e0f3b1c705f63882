import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../daemon/control/api/client.ts'
import { type ControlServer, startControlServer } from '../../daemon/control/api/server.ts'
import type { TcpOptions } from '../../daemon/control/api/tcp.ts'
import { createScriptedNode, SELF } from './scripted-node.ts'

let folder = ''
let server: ControlServer | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-tcp-'))
})
afterEach(async () => {
  await server?.close()
  server = undefined
  rmSync(folder, { recursive: true })
})

const tcp = (more: Partial<TcpOptions> = {}): TcpOptions => ({
  listen: '127.0.0.1:0',
  public: false,
  readTokenFile: join(folder, 'read.token'),
  adminTokenFile: join(folder, 'admin.token'),
  ...more,
})
const start = async (options: TcpOptions | undefined): Promise<ControlServer> => {
  server = await startControlServer(
    { socket: join(folder, 'c.sock'), run: 'r', tcp: options },
    { node: createScriptedNode(), clock: Date.now },
  )
  return server
}
const token = (which: 'read' | 'admin'): string => readFileSync(join(folder, `${which}.token`), 'utf8').trim()

test('it is off unless asked for', async () => {
  expect((await start(undefined)).tcp).toBeUndefined()
})

test('a reader may look, an admin may steer, nobody else may do anything but ask for health', async () => {
  const { port } = (await start(tcp())).tcp!
  const as = (given: string | undefined) => createClient({ host: '127.0.0.1', port, token: given })
  expect(await as(undefined).health()).toMatchObject({ peerId: SELF })
  for (const bad of [undefined, 'wrong', token('read').slice(1)]) {
    await expect(as(bad).snapshot()).rejects.toMatchObject({
      code: 'E_CONTROL',
      message: expect.stringContaining('token'),
    })
  }
  expect(await as(token('read')).snapshot()).toMatchObject({ v: 1 })
  await expect(as(token('read')).send('pause', {})).rejects.toThrow('the read token does not allow changes')
  expect(await as(token('admin')).send('pause', {})).toMatchObject({ done: true })
  const metrics = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(metrics.status).toBe(401)
  const scraped = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { authorization: `Bearer ${token('read')}` },
  })
  expect(await scraped.text()).toContain('waggle_training_steps_total')
})

test('a client without a token does not learn where the home is', async () => {
  const { port } = (await start(tcp())).tcp!
  for (const authorization of ['Bearer wrong', `Bearer ${token('read')}`, '']) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/pause`, {
      method: 'POST',
      headers: authorization === '' ? {} : { authorization },
    })
    expect([401, 403]).toContain(answer.status)
    const text = await answer.text()
    expect(text).toContain('control-admin.token')
    expect(text).not.toContain(folder)
  }
})

test('an admin over TCP does not reach the files of the machine', async () => {
  const { port } = (await start(tcp())).tcp!
  const admin = createClient({ host: '127.0.0.1', port, token: token('admin') })
  await expect(admin.send('share', { path: '/etc/passwd' })).rejects.toThrow('not available over TCP')
  await expect(admin.send('fetch', { source: 'x', path: '/tmp/x' })).rejects.toThrow('not available over TCP')
})

test('70 silent connections do not keep others out', async () => {
  const { port } = (await start(tcp())).tcp!
  const silent = await Promise.all(
    Array.from({ length: 70 }, async () => {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {})
      await new Promise((resolve) => socket.once('connect', resolve))
      return socket
    }),
  )
  const reader = createClient({ host: '127.0.0.1', port, token: token('read') })
  expect(await reader.snapshot()).toMatchObject({ v: 1 })
  for (const socket of silent) socket.destroy()
})

test('tokens are made once, for the owner only', async () => {
  await start(tcp())
  const first = token('read')
  expect(first.length).toBeGreaterThanOrEqual(32)
  expect(first).not.toBe(token('admin'))
  expect(statSync(join(folder, 'admin.token')).mode & 0o777).toBe(0o600)
  await server!.close()
  await start(tcp())
  expect(token('read')).toBe(first)
})

test('a token that cannot be written is one clear message', async () => {
  symlinkSync(join(folder, 'nowhere', 'read.token'), join(folder, 'read.token'))
  await expect(start(tcp())).rejects.toMatchObject({
    code: 'E_HOME',
    message: expect.stringContaining(`cannot write ${join(folder, 'read.token')}`),
  })
})

test('an address that others reach must be meant', async () => {
  for (const listen of ['0.0.0.0:0', '[::]:0', '192.0.2.1:0']) {
    await expect(start(tcp({ listen }))).rejects.toMatchObject({
      code: 'E_PORT',
      hint: expect.stringContaining('control.public'),
    })
  }
  expect((await start(tcp({ listen: '0.0.0.0:0', public: true }))).tcp?.port).toBeGreaterThan(0)
})

test('a port in use, or a token that is too short, is one clear message, and leaves no socket behind', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  await expect(start(tcp({ listen: `127.0.0.1:${port}` }))).rejects.toMatchObject({
    code: 'E_PORT',
    message: expect.stringContaining('in use'),
  })
  other.close()
  writeFileSync(join(folder, 'read.token'), 'abc')
  await expect(start(tcp())).rejects.toMatchObject({
    code: 'E_HOME',
    message: expect.stringContaining('too short'),
  })
  await start(undefined)
})

test('where nothing answers at an address, nobody is told to start a node here', async () => {
  const { port } = (await start(tcp())).tcp!
  await server!.close()
  await expect(createClient({ host: '127.0.0.1', port, token: undefined }).health()).rejects.toMatchObject({
    ...{ code: 'E_NOT_RUNNING', hint: expect.stringContaining('control.listen') },
  })
})
