import { expect, test } from 'vitest'
import { createServiceManager } from '../../daemon/cli/daemon/service-manager.ts'

function run(env: Record<string, string>, pid = 7) {
  const sent: string[][] = []
  const timers: Array<{ run: () => void; ms: number; ended: boolean }> = []
  const service = createServiceManager(
    { env, pid },
    {
      send: (words) => sent.push([...words]),
      status: () => 'Training',
      every(tick, ms) {
        const timer = { run: tick, ms, ended: false }
        timers.push(timer)
        return () => {
          timer.ended = true
        }
      },
    },
  )
  return { service, sent, timers }
}

test('without systemd nothing is sent', () => {
  const { service, sent, timers } = run({ WATCHDOG_USEC: '1000000' })
  service.ready()
  service.stopping()
  service.close()
  expect([sent, timers]).toEqual([[], []])
})

test('ready, alive twice within the limit, stopping; each with the state in words', () => {
  const { service, sent, timers } = run({ NOTIFY_SOCKET: '/s', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' })
  service.ready()
  expect(timers[0]!.ms).toBe(15_000)
  timers[0]!.run()
  service.stopping()
  service.close()
  expect(sent).toEqual(['READY=1', 'WATCHDOG=1', 'STOPPING=1'].map((word) => [word, 'STATUS=Training']))
  expect(timers[0]!.ended).toBe(true)
})

test("another process's watchdog is not fed", () => {
  const { service, sent, timers } = run({ NOTIFY_SOCKET: '/s', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' })
  service.ready()
  timers[0]!.run()
  expect(sent.at(-1)).toEqual(['STATUS=Training'])
})
