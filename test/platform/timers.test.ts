import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, sleep } from '../../daemon/platform/index.ts'

const DAY = 86_400_000

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('a wait of sixty days ends after sixty days', () => {
  let runs = 0
  after(60 * DAY, () => runs++)
  vi.advanceTimersByTime(60 * DAY - 1)
  expect(runs).toBe(0)
  vi.advanceTimersByTime(1)
  expect(runs).toBe(1)
})

test('a long wait is cancelled in its second part, too', () => {
  let runs = 0
  const cancel = after(60 * DAY, () => runs++)
  vi.advanceTimersByTime(30 * DAY)
  cancel()
  vi.advanceTimersByTime(60 * DAY)
  expect(runs).toBe(0)
})

test('a sleep of sixty days ends after sixty days, or when its signal is aborted', async () => {
  let ended = 0
  const stop = new AbortController()
  const aborted = sleep(60 * DAY, stop.signal).catch((error: Error) => error.name)
  void sleep(60 * DAY).then(() => ended++)
  await vi.advanceTimersByTimeAsync(59 * DAY)
  expect(ended).toBe(0)
  stop.abort()
  expect(await aborted).toBe('AbortError')
  await vi.advanceTimersByTimeAsync(DAY)
  expect(ended).toBe(1)
})
