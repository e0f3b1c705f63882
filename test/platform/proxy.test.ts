// HTTPS_PROXY, in a process of its own, with a proxy that writes down what it is asked for; and the folder of `npm run`.

import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { typedIn } from '../../daemon/platform/typed-in.ts'

const MODULE = join(import.meta.dirname, '../../daemon/platform/proxy.ts')
let asked: string[] = []
let proxy: Server
let plain: Server
const portOf = (server: Server): number => (server.address() as AddressInfo).port
beforeEach(async () => {
  asked = []
  proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.end()
  })
  proxy.on('connect', ({ url }, socket) => {
    asked.push(`CONNECT ${url}`)
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  plain = createServer((_, response) => response.end('direct'))
  for (const server of [proxy, plain]) await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
})
afterEach(() => {
  for (const server of [proxy, plain]) server.close()
})

/** What fetching `url` gave: its text, or "failed". */
async function fetched(url: string, env: Record<string, string> = {}): Promise<string> {
  const address = `http://127.0.0.1:${portOf(proxy)}`
  const program = `import { obeyProxy } from ${JSON.stringify(MODULE)}
    obeyProxy(process.env)
    console.log(await fetch(process.argv[1]).then((it) => it.text(), () => 'failed'))
    process.exit()`
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', program, url],
    { env: { PATH: process.env.PATH, HTTPS_PROXY: address, HTTP_PROXY: address, ...env } },
  )
  return stdout.trim()
}

test('https goes through the proxy', async () => {
  expect(await fetched('https://models.invalid/file')).toBe('failed')
  expect(asked).toEqual(['CONNECT models.invalid:443'])
})

test.each(['127.0.0.1', '127.0.0.2'])('plain http to %s does not, whatever HTTP_PROXY says', async (host) => {
  expect(await fetched(`http://${host}:${portOf(plain)}/`)).toBe('direct')
  expect(asked).toEqual([])
})

test('NO_PROXY is obeyed', async () => {
  expect(await fetched('https://models.invalid/file', { NO_PROXY: 'models.invalid' })).toBe('failed')
  expect(asked).toEqual([])
})

test('paths are relative to where `npm run` was typed, if the script is one of this checkout', () => {
  const env = { INIT_CWD: '/home/ada/data', npm_package_json: '/src/waggle/package.json' }
  const of = (cwd: string, more = {}) => typedIn({ cwd, env: { ...env, ...more }, root: '/src/waggle' })
  expect(of('/src/waggle')).toBe('/home/ada/data')
  expect(of('/src/waggle/', { INIT_CWD: undefined })).toBe('/src/waggle/')
  expect(of('/elsewhere')).toBe('/elsewhere')
  expect(of('/src/waggle', { npm_package_json: '/home/ada/app/package.json' })).toBe('/src/waggle')
})
