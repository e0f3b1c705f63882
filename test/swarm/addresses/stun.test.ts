// The STUN responder: the answers of RFC 5769's request and address, what is not answered, the limits, and fuzz.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { answerStun, MAX_STUN_BYTES } from '../../../daemon/swarm/addresses/stun.ts'
import { startStunResponder } from '../../../daemon/swarm/addresses/stun-responder.ts'
import { stillClock } from '../groups.ts'

const HERE = { address: '192.0.2.1', port: 32_853 }
const TRANSACTION = 'b7e7a701bc34d686fa87dfae'
/** A Binding request without attributes. */
const request = (attributes = '', transaction = TRANSACTION) =>
  Buffer.from(
    `0001${(attributes.length / 2).toString(16).padStart(4, '0')}2112a442${transaction}${attributes}`,
    'hex',
  )
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')

describe('an answer', () => {
  test('has the address of RFC 5769 2.2, mixed as there', () => {
    expect(hex(answerStun(request(), HERE))).toBe(`0101000c2112a442${TRANSACTION}002000080001a147e112a643`)
  })

  test('has the address of RFC 5769 2.3 over IPv6', () => {
    const from = { address: '2001:db8:1234:5678:11:2233:4455:6677', port: 32_853 }
    expect(hex(answerStun(request(), from))).toBe(
      `010100182112a442${TRANSACTION}002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9`,
    )
    expect(hex(answerStun(request(), { ...from, address: '::1' }))?.slice(-32)).toBe(
      hex(Buffer.from('2112a442b7e7a701bc34d686fa87dfaf', 'hex')),
    )
    expect(answerStun(request(), { ...from, address: '::ffff:192.0.2.1' })).toEqual(
      answerStun(request(), HERE),
    )
  })

  test('has a fingerprint if the request had one, and is not given to a wrong one', () => {
    // The request of RFC 5769 2.1, with SOFTWARE, PRIORITY, ICE-CONTROLLED, USERNAME, MESSAGE-INTEGRITY, FINGERPRINT.
    const sample = Buffer.from(
      '000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff' +
        '80290008932ff9b151263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf',
      'hex',
    )
    // And the answer of 2.2 without its SOFTWARE and MESSAGE-INTEGRITY: same address, another fingerprint.
    const answer = answerStun(sample, HERE)!
    expect(hex(answer)?.slice(0, 64)).toBe(`010100142112a442${TRANSACTION}002000080001a147e112a643`)
    expect(hex(answer)?.slice(64, 72)).toBe('80280004')
    sample[sample.length - 1]! ^= 1
    expect(answerStun(sample, HERE)).toBeUndefined()
  })

  test('names attributes that must be understood and are not', () => {
    expect(hex(answerStun(request('0003000400000006'), HERE))).toBe(
      `011100102112a442${TRANSACTION}0009000400000414000a000200030000`,
    )
  })
})

test.each([
  ['nothing', ''],
  ['half a header', '000100002112a442'],
  ['no cookie (RFC 3489)', `0001000000000000${TRANSACTION}`],
  ['an answer', `010100002112a442${TRANSACTION}`],
  ['an indication', `001100002112a442${TRANSACTION}`],
  ['another method', `000300002112a442${TRANSACTION}`],
  ['a length that is not its own', `000100042112a442${TRANSACTION}`],
  ['an attribute beyond the end', `000100042112a442${TRANSACTION}80220010`],
  ['more than a packet', `000102242112a442${TRANSACTION}${'80220000'.repeat(137)}`],
])('%s is met with silence', (_, bytes) => {
  expect(answerStun(Buffer.from(bytes, 'hex'), HERE)).toBeUndefined()
})

test('for any input: nothing throws, at most 52 bytes more than a header, never an answer to an answer', () => {
  const shaped = fc
    .tuple(
      fc.constantFrom('0001', '0101', '0011'),
      fc.array(fc.tuple(fc.nat(0xffff), fc.uint8Array({ maxLength: 24 })), { maxLength: 12 }),
      fc.boolean(),
    )
    .map(([type, attributes, lie]) => {
      const body = Buffer.concat(
        attributes.map(([attribute, value]) => {
          const head = Buffer.alloc(4)
          head.writeUInt16BE(attribute, 0)
          head.writeUInt16BE(lie ? attribute : value.length, 2)
          return Buffer.concat([head, value, Buffer.alloc((4 - (value.length % 4)) % 4)])
        }),
      )
      const bytes = Buffer.concat([request(), body])
      bytes.write(type, 0, 'hex')
      bytes.writeUInt16BE(body.length, 2)
      return Uint8Array.from(bytes)
    })
  const port = fc.nat(65_535)
  const address = fc.oneof(fc.ipV4(), fc.ipV6())
  fc.assert(
    fc.property(fc.oneof(shaped, fc.uint8Array({ maxLength: 700 })), address, port, (bytes, from, at) => {
      const answer = answerStun(bytes, { address: from, port: at })
      if (answer === undefined) return
      expect(bytes.length).toBeLessThanOrEqual(MAX_STUN_BYTES)
      expect(answer.length).toBeLessThanOrEqual(20 + 52)
      expect(new DataView(answer.buffer).getUint16(2)).toBe(answer.length - 20)
      expect(answerStun(answer, HERE)).toBeUndefined()
    }),
    { numRuns: 5000 },
  )
})

describe('over UDP', () => {
  const closers: Array<() => unknown> = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  test('each address gets a burst of answers and then silence', async () => {
    const clock = stillClock()
    const responder = await startStunResponder({ port: 0, host: '127.0.0.1' }, { clock })
    closers.push(() => responder.stop())
    const socket = createSocket('udp4')
    closers.push(() => socket.close())
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const answers: Buffer[] = []
    socket.on('message', (answer) => answers.push(answer))
    const ask = () =>
      new Promise<void>((resolve) => socket.send(request(), responder.port, '127.0.0.1', () => resolve()))
    const heard = async (packets: number) => {
      while (responder.answered + responder.limited < packets) await new Promise((r) => setTimeout(r, 5))
    }
    // One by one: a burst of datagrams may overflow a socket's buffer.
    for (let i = 1; i <= 30; i++) {
      await ask()
      await heard(i)
    }
    expect(responder).toMatchObject({ answered: 20, limited: 10 })
    clock.time += 1000
    await ask()
    await heard(31)
    expect(responder.answered).toBe(21)
    while (answers.length < 21) await new Promise((r) => setTimeout(r, 5))
    const mapped = answerStun(request(), { address: '127.0.0.1', port: socket.address().port })
    expect(answers.every((answer) => answer.equals(mapped!))).toBe(true)
  })

  test('a port that is in use is reported as such', async () => {
    const first = await startStunResponder({ port: 0, host: '127.0.0.1' }, { clock: stillClock() })
    closers.push(() => first.stop())
    await expect(
      startStunResponder({ port: first.port, host: '127.0.0.1' }, { clock: stillClock() }),
    ).rejects.toMatchObject({ code: 'E_PORT', message: expect.stringContaining('in use') })
  })
})
