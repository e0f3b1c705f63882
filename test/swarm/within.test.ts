import { expect, test } from 'vitest'
import { within } from '../../daemon/swarm/within.ts'
import { VirtualClock } from '../virtual-clock.ts'

const waiting = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('work that takes longer than its limit is aborted by the clock', async () => {
  const clock = new VirtualClock()
  const work = within(10_000, { clock }, waiting)
  const outcome = work.catch((error) => error)
  await clock.pass(9_999)
  expect(await Promise.race([outcome, 'still running'])).toBe('still running')
  await clock.pass(1)
  expect(await outcome).toMatchObject({ name: 'TimeoutError', message: 'not within 10 s' })
})

test('work that ends in time leaves no timer behind', async () => {
  const clock = new VirtualClock()
  let left = 0
  const after = (ms: number, run: () => void) => {
    left += 1
    const cancel = clock.after(ms, run)
    return () => {
      left -= 1
      cancel()
    }
  }
  expect(await within(10_000, { clock: { after } }, async () => 'done')).toBe('done')
  await expect(
    within(10_000, { clock: { after } }, () => Promise.reject(new Error('broken'))),
  ).rejects.toThrow('broken')
  expect(left).toBe(0)
})

test('the caller may end it earlier', async () => {
  const caller = new AbortController()
  const work = within(10_000, { clock: new VirtualClock(), signal: caller.signal }, waiting)
  caller.abort(new Error('not needed'))
  await expect(work).rejects.toThrow('not needed')
})
