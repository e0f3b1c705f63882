import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '../../daemon/control/api/client.ts'

/** What `use` sees of a daemon that answers so. */
async function facing(
  answer: (response: ServerResponse) => void,
  use: (client: ReturnType<typeof createClient>) => Promise<unknown>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'waggle-client-'))
  const socket = join(folder, 's')
  const server = createServer((_, response) => answer(response))
  await new Promise<void>((ready) => server.listen(socket, ready))
  try {
    await use(createClient({ socket }))
  } finally {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
    await rm(folder, { recursive: true })
  }
}

const begunThenCut = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-length': 1000 })
  response.write('{"type":"progress","message":"saving"}\n', () => response.destroy())
}

test('a daemon that dies in the middle of an answer is an expected error, for commands and for questions', () =>
  facing(begunThenCut, async (client) => {
    const expected = { code: 'E_CONTROL', message: expect.stringContaining('middle of its answer') }
    await expect(client.send('stop', {})).rejects.toMatchObject(expected)
    await expect(client.snapshot()).rejects.toMatchObject(expected)
  }))

test('one who stops listening gets their own reason', () =>
  facing(begunThenCut, async (client) => {
    const asked = new AbortController()
    asked.abort(new Error('enough'))
    await expect(client.snapshot({ signal: asked.signal })).rejects.toThrow('enough')
  }))
