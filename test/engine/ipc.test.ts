import { expect, test } from 'vitest'
import { joining, sendInPieces } from '../../daemon/engine/thread/ipc.ts'

test('large arrays travel ahead in pieces and arrive where they were, small ones and the rest as they are', () => {
  const big = Float32Array.from({ length: 1 << 19 }, (_, i) => i)
  const message = {
    id: 7,
    request: { weights: { big, view: big.subarray(5, 9) }, list: [Int32Array.of(1, 2), null, 'x'] },
    ints: new Int32Array(1 << 18).fill(3),
  }
  const sent: unknown[] = []
  sendInPieces(message, (part) => sent.push(structuredClone(part)))
  const received: unknown[] = []
  const listen = joining((whole) => received.push(whole))
  for (const part of sent) listen(part)
  expect(sent.length).toBe(3)
  const [whole] = received as [typeof message]
  const bytes = (array: Float32Array | Int32Array) =>
    Buffer.from(array.buffer, array.byteOffset, array.byteLength)
  expect(bytes(whole.request.weights.big).equals(bytes(big))).toBe(true)
  expect(bytes(whole.ints).equals(bytes(message.ints))).toBe(true)
  expect(whole.request.weights.view).toEqual(Float32Array.of(5, 6, 7, 8))
  expect([whole.id, whole.request.list]).toEqual([7, [Int32Array.of(1, 2), null, 'x']])
})

test('other messages pass', () => {
  const received: unknown[] = []
  joining((message) => received.push(message))({ abort: 4 })
  expect(received).toEqual([{ abort: 4 }])
})
