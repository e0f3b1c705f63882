import { beforeEach, expect, test } from 'vitest'
import { Notices } from '../../../daemon/swarm/notices.ts'
import { PeerNews } from '../../../daemon/swarm/peers/news.ts'
import type { SwarmEvent } from '../../../daemon/swarm/types.ts'
import { VirtualClock } from '../../virtual-clock.ts'

let clock: VirtualClock
let events: SwarmEvent[]
let news: PeerNews
beforeEach(() => {
  clock = new VirtualClock()
  events = []
  const onEvent = (event: SwarmEvent) => events.push(event)
  news = new PeerNews({}, { clock, onEvent, isWanted: (peer) => peer === 'friend' })
})

const told = (peer: string): string[] =>
  events.flatMap((event) => (event.type === 'peer' && event.peer === peer ? [event.change] : []))

test('a peer that reconnects fifty times a second gets a few lines, and each that it left when it came', async () => {
  for (let i = 0; i < 3000; i++) {
    news.connected('restless')
    news.disconnected('restless')
    await clock.pass(20)
  }
  const changes = told('restless')
  expect(changes.length).toBeGreaterThan(2)
  expect(changes.length).toBeLessThan(20)
  expect(changes).toEqual(changes.map((_, i) => (i % 2 === 0 ? 'connected' : 'disconnected')))
})

test('a crowd under ever new names gets a bounded number of lines, and a joined peer its own', async () => {
  for (let i = 0; i < 3000; i++) {
    news.connected(`stranger ${i}`)
    news.disconnected(`stranger ${i}`)
    news.cut(`stranger ${i}`, 'reject')
    await clock.pass(20)
  }
  news.connected('friend', '/ip4/10.0.0.2/tcp/4001')
  news.disconnected('friend')
  expect(events.length).toBeLessThan(600)
  expect(told('friend')).toEqual(['connected', 'disconnected'])
})

test('peers under ever new names with other rules get a few notices, so that these hide no other', () => {
  const notices = new Notices({}, { onEvent: (event) => events.push(event) })
  for (let i = 0; i < 1000; i++) {
    notices.otherRules(`stranger ${i}`, 'another swarm')
    notices.twin(`twin ${i}`)
  }
  notices.clockOff('the clock is off')
  expect(events.length).toBeLessThan(10)
  expect(events.at(-1)).toMatchObject({ key: 'clock' })
})

test('when a swarm has stopped, its notices are over but for those about what somebody must do', () => {
  const notices = new Notices({}, { onEvent: (event) => events.push(event) })
  notices.clockOff('the clock is off')
  notices.neighbours('another node is here', 'join it')
  notices.noMdns('no multicast')
  notices.silence(1, 600_000)
  notices.forwarding({ trouble: 'it is off' })
  notices.otherRules('stranger', 'another swarm')
  notices.impostor()
  notices.twin('twin')
  notices.close()
  const over = events.flatMap((event) => (event.type === 'over' ? [event.key] : []))
  expect(over).toEqual(['clock', 'lan', 'mdns', 'silence', 'upnp', 'rules-stranger'])
})
