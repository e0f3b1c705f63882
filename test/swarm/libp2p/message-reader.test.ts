// Messages off a stream: split anywhere, in buffers that are used again, and no more than was asked for.

import type { Stream } from '@libp2p/interface'
import { Uint8ArrayList } from 'uint8arraylist'
import { expect, test } from 'vitest'
import { MessageReader } from '../../../daemon/swarm/libp2p/message-reader.ts'
import { lengthPrefixed } from '../hostile/attacker.ts'

const never = new AbortController().signal

function reading(options = { maxMessage: 1000, ahead: 2 }) {
  const stream = new EventTarget()
  const reader = new MessageReader(options, { stream: stream as unknown as Stream })
  const come = (data: Uint8Array | Uint8ArrayList) =>
    stream.dispatchEvent(Object.assign(new Event('message'), { data }))
  return { reader, come, end: () => stream.dispatchEvent(new Event('remoteCloseWrite')) }
}

test('messages come whole, wherever the network splits them, and in the same memory once it is given back', async () => {
  const { reader, come } = reading()
  const messages = [1, 127, 128, 300, 0, 1000].map((length, i) => new Uint8Array(length).fill(i + 1))
  const memory = new Set<ArrayBufferLike>()
  for (const message of messages) {
    const bytes = lengthPrefixed(message)
    const list = new Uint8ArrayList()
    for (let at = 0; at < bytes.length; at += 7) list.append(Uint8Array.from(bytes.subarray(at, at + 7)))
    for (const byte of bytes.subarray(0, 3)) come(Uint8Array.of(byte))
    if (list.byteLength > 3) come(list.sublist(3))
    const got = await reader.next(never)
    expect(got).toEqual(message)
    memory.add(got.buffer)
    reader.release(got)
  }
  // 1, 127 or 128, 300 and 1000 bytes did not fit into what there was before.
  expect(memory.size).toBe(5)
})

test('a message that is too long, one too many, or cut off ends the reading after the messages before it', async () => {
  const long = reading()
  long.come(lengthPrefixed(Uint8Array.of(1)))
  long.come(lengthPrefixed(new Uint8Array(1001)))
  expect(await long.reader.next(never)).toEqual(Uint8Array.of(1))
  await expect(long.reader.next(never)).rejects.toThrow('too long')
  const much = reading()
  for (let i = 0; i < 3; i++) much.come(lengthPrefixed(Uint8Array.of(i)))
  for (let i = 0; i < 2; i++) await much.reader.next(never)
  await expect(much.reader.next(never)).rejects.toThrow('more messages')
  const endless = reading()
  endless.come(new Uint8Array(10).fill(0xff))
  await expect(endless.reader.next(never)).rejects.toThrow('no message can have')
})

test('a stream that ends, and a reader that has waited long enough, are told', async () => {
  const { reader, come, end } = reading()
  come(Uint8Array.of(5, 1, 2))
  await expect(reader.next(AbortSignal.timeout(5))).rejects.toThrow(/timeout/)
  const waiting = reader.next(never)
  end()
  await expect(waiting).rejects.toThrow('ended')
})
