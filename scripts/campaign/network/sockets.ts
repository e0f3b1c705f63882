// G34: somebody opens a thousand connections a second to a real node and says nothing on them. Honest nodes, from the same
// address, join meanwhile.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { startNode, stopNodes } from '../../../test/swarm/helpers.ts'
import { inPercent, type Row } from '../row.ts'

const PER_SECOND = 1000
const JOIN_WITHIN_MS = 10_000
/** Opens sockets at that rate until it is killed. */
const FLOOD = `
  const { connect } = require('node:net')
  const [port, rate] = process.argv.slice(1).map(Number)
  const begun = Date.now()
  let opened = 0
  setInterval(() => {
    for (const due = ((Date.now() - begun) / 1000) * rate; opened < due; opened++)
      connect(port, '127.0.0.1').on('error', () => {})
    process.stdout.write(opened + '\\n')
  }, 10)
`

/** Runs something under the flood; returns how many connections were opened in all. */
async function under(port: number, run: () => Promise<void>): Promise<number> {
  const flood = spawn(process.execPath, ['-e', FLOOD, String(port), String(PER_SECOND)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let opened = 0
  flood.stdout.on('data', (lines) => {
    opened = Number(String(lines).trim().split('\n').at(-1))
  })
  await once(flood.stdout, 'data')
  await run()
  flood.kill('SIGKILL')
  await once(flood, 'close')
  return opened
}

export async function sockets({ joins }: { joins: number }): Promise<Row> {
  const victim = await startNode()
  const port = Number(/tcp\/(\d+)/.exec(victim.address)![1])
  let [joined, most] = [0, 0]
  const watch = setInterval(() => {
    const open = process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
    // Each honest node has two ends in this process.
    most = Math.max(most, open - 2 * joined)
  }, 20)
  const begun = performance.now()
  const opened = await under(port, async () => {
    for (let i = 0; i < joins; i++) {
      const node = await startNode()
      const signal = AbortSignal.timeout(JOIN_WITHIN_MS)
      const { state } = await node.swarm.join(victim.address, { signal })
      if (state === 'connected') joined++
    }
  })
  const seconds = (performance.now() - begun) / 1000
  clearInterval(watch)
  await stopNodes()
  let open = 0
  const plain = createServer((socket) => {
    open++
    socket.on('error', () => {})
  })
  await once(plain.listen(0, '127.0.0.1'), 'listening')
  await under((plain.address() as AddressInfo).port, () => new Promise((done) => setTimeout(done, 2000)))
  plain.close()
  return {
    goal: 'G34',
    tried: `${opened} silent connections in ${seconds.toFixed(0)} s while ${joins} honest nodes joined`,
    result: `${inPercent(joined, joins)} joined; at most ${most} connections open besides theirs`,
    control: `a plain server had ${open} open after 2 s`,
    isMet: joined >= 0.99 * joins && most <= 300,
  }
}
