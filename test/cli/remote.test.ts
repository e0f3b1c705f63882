import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ControlServer, startControlServer } from '../../daemon/control/api/server.ts'
import { peerName } from '../../protocol/text.ts'
import { createScriptedNode, SELF } from '../control/scripted-node.ts'
import { freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

let home = ''
let server: ControlServer
const path = process.env.PATH

/** Forwards by linking the sockets, and answers as the other machine's waggle would. */
const SSH = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
for word in "$@"; do
  case "$word" in
    *down) echo "ssh: connect to host down: No route to host" >&2; exit 255 ;;
    waggle) printf '{"v":1,"socket":"%s"}' "$SCRIPTED_SOCKET"; exit 0 ;;
    *:/*) ln -s "\${word#*:}" "\${word%%:*}"; exec sleep 30 ;;
  esac
done
exit 1
`

beforeAll(async () => {
  home = freshHome()
  const socket = join(home, 'c.sock')
  const node = createScriptedNode()
  server = await startControlServer(
    {
      socket,
      run: 'r',
      tcp: {
        listen: '127.0.0.1:0',
        public: false,
        readTokenFile: join(home, 'read'),
        adminTokenFile: join(home, 'admin'),
      },
    },
    { node, clock: Date.now },
  )
  writeFileSync(join(home, 'ssh'), SSH)
  chmodSync(join(home, 'ssh'), 0o755)
  process.env.PATH = `${home}${delimiter}${path}`
  process.env.SCRIPTED_SOCKET = socket
})
afterAll(async () => {
  process.env.PATH = path
  await server.close()
})

const status = (...more: string[]) => waggle(['status', ...more])

test('a socket elsewhere', async () => {
  expect((await status('--on', `unix://${home}/c.sock`)).stdout).toContain(peerName(SELF))
})

test('TCP, with a token from a file', async () => {
  const on = `http://127.0.0.1:${server.tcp!.port}`
  expect((await status('--on', on)).stderr).toContain('a token is required')
  expect((await status('--on', on, '--token-file', join(home, 'read'))).stdout).toContain(peerName(SELF))
  const relative = await waggle(['status', '--on', on, '--token-file', 'read'], { cwd: home })
  expect(relative.stdout).toContain(peerName(SELF))
  expect((await waggle(['pause', '--on', on, '--token-file', join(home, 'read')])).stderr).toContain(
    'the read token does not allow changes',
  )
  expect((await status('--on', on, '--token-file', '/nonexistent')).status).toBe(2)
})

test('another machine through ssh, its socket asked for or named', async () => {
  expect((await status('--on', 'ssh://ada@box')).stdout).toContain(peerName(SELF))
  expect((await status('--on', `ssh://box:2222${home}/c.sock`)).stdout).toContain(peerName(SELF))
})

test('a machine that does not answer is one clear message', async () => {
  const { status: exit, stderr } = await status('--on', 'ssh://down')
  expect(exit).toBe(5)
  expect(stderr).toContain(
    'cannot reach the daemon on down over ssh: ssh: connect to host down: No route to host',
  )
})

test.each(['ssh://-oProxyCommand=x', 'ftp://x', 'box', 'ssh://'])('"%s" is refused', async (on) => {
  expect((await status('--on', on)).status).toBe(2)
})

test('join does not start a node here when it is asked to steer one elsewhere', async () => {
  const { status: exit } = await waggle(['join', SELF, '--on', 'unix:///nonexistent/c.sock'])
  expect(exit).toBe(3)
})
