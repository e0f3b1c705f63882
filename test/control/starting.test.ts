// A node that is still starting, behind its real control server.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { statusText } from '../../daemon/cli/text/status-text.ts'
import { defaultConfig } from '../../daemon/config/schema.ts'
import { createClient } from '../../daemon/control/api/client.ts'
import { type Served, serveControl } from '../../daemon/node/start/serve.ts'
import { createPhases, type Phases } from '../../protocol/api/index.ts'
import { createScriptedNode } from './scripted-node.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function starting(interrupt: () => void = () => {}) {
  const folder = mkdtempSync(join(tmpdir(), 'waggle-starting-'))
  folders.push(folder)
  const socket = join(folder, 'control.sock')
  const node = createScriptedNode({ socket })
  let now = 0
  const phases: Phases = createPhases({ now: () => now })
  const served: Served = await serveControl(
    {
      paths: { socket } as never,
      control: defaultConfig().control,
      run: 'r1',
      node: node.snapshot().node,
    },
    { events: node.events, now: () => 0, phases, interrupt },
  )
  const pass = (ms: number): void => {
    now += ms
  }
  return { node, phases, served, client: createClient({ socket }), pass }
}

test('status, and programs, see that it starts and how far it is', async () => {
  const { client, phases, served, pass } = await starting()
  await phases.run('load', { unit: 'bytes', total: 100e6 }, async (at) => {
    pass(4000)
    at(50e6)
    expect(await client.health()).toMatchObject({ state: 'STARTING' })
    const snapshot = await client.snapshot()
    expect(snapshot).toMatchObject({ state: 'STARTING', phases: [{ name: 'load', fraction: 0.5 }] })
    expect(statusText(snapshot).join('\n')).toMatch(
      /doing +loading the model 50 %, 50.0 MB of 100 MB, 12.5 MB\/s, 4 s left/,
    )
  })
  await served.abandon()
})

test('what it cannot do yet is refused with what it is at', async () => {
  const { client, phases, served, pass } = await starting()
  await phases.run('load', { unit: 'bytes', total: 100e6 }, async (at) => {
    pass(4000)
    at(50e6)
    await expect(client.send('eval', {})).rejects.toMatchObject({
      code: 'E_CONTROL',
      message: expect.stringContaining('is still starting: loading the model 50 %'),
    })
  })
  await served.abandon()
})

test('once it is up, the node itself answers on the same socket', async () => {
  const { client, node, served } = await starting()
  const handle = served.isUp(node)
  await vi.waitFor(async () => expect(await client.health()).toMatchObject({ state: 'TRAINING', run: 'r1' }))
  served.finish(0)
  expect(await handle.whenStopped).toBe(0)
})

test('stop ends the start, and answers when it has ended', async () => {
  const interrupt = vi.fn()
  const { client, served } = await starting(interrupt)
  let answered = false
  const stopping = client.send('stop', {}).then(() => {
    answered = true
  })
  await vi.waitFor(() => expect(interrupt).toHaveBeenCalled())
  expect(answered).toBe(false)
  await served.abandon()
  await stopping
  await expect(client.health()).rejects.toMatchObject({ code: 'E_NOT_RUNNING' })
})

test('a stop that comes too late for the start stops the node', async () => {
  const { client, node, served } = await starting()
  const stopping = client.send('stop', { checkpoint: false })
  await vi.waitFor(() => expect(node.calls).toEqual([]))
  const handle = served.isUp(node)
  await stopping
  expect(node.calls).toEqual([expect.stringContaining('stop')])
  served.finish(0)
  await handle.whenStopped
})
