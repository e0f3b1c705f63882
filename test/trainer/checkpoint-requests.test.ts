// Checkpoints that somebody asks for.

import { expect, test } from 'vitest'
import { createCheckpointRequests } from '../../daemon/trainer/checkpoints/checkpoint-requests.ts'

test('one checkpoint is saved for all who wait', async () => {
  let saved = 0
  const requests = createCheckpointRequests(async () => ++saved)
  const asked = [requests.request(), requests.request()]
  await requests.serve()
  await requests.serve()
  expect(await Promise.all(asked)).toEqual([1, 1])
})

test('a node that stops refuses who waits, and who asks while it closes', async () => {
  const requests = createCheckpointRequests(async () => 1)
  const before = requests.request()
  requests.refuse(new Error('stopping'))
  await expect(before).rejects.toThrow('stopping')
  await expect(requests.request()).rejects.toThrow('stopping')
})
