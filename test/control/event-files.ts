// Reads event files as TensorBoard does: in the order of their names, each up to a record that is cut off, every checksum
// compared. Written from the format's description, so that the writer is not compared with itself.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ReadEvent {
  step?: number
  version?: string
  start?: true
  scalars?: Record<string, number>
}

export function readEvents(folder: string): ReadEvent[] {
  return readdirSync(folder)
    .filter((name) => name.includes('tfevents'))
    .sort()
    .flatMap((name) => records(readFileSync(join(folder, name))).map(readEvent))
}

function records(file: Buffer): Buffer[] {
  const found = []
  for (let at = 0; at + 12 <= file.length; ) {
    const length = Number(file.readBigUInt64LE(at))
    if (at + 16 + length > file.length) break
    const data = file.subarray(at + 12, at + 12 + length)
    if (file.readUInt32LE(at + 8) !== masked(file.subarray(at, at + 8)))
      throw new Error('a length is damaged')
    if (file.readUInt32LE(at + 12 + length) !== masked(data)) throw new Error('a record is damaged')
    found.push(data)
    at += 16 + length
  }
  return found
}

/** Bit by bit: Castagnoli's polynomial, reflected. */
function masked(data: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of data) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  crc = ~crc >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

type Field = [number: number, value: number | Buffer]

function fields(data: Buffer): Field[] {
  const found: Field[] = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = data[at++]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < data.length) {
    const key = varint()
    const kind = key & 7
    if (kind === 0) found.push([key >> 3, varint()])
    else if (kind === 1) {
      found.push([key >> 3, data.readDoubleLE(at)])
      at += 8
    } else if (kind === 5) {
      found.push([key >> 3, data.readFloatLE(at)])
      at += 4
    } else if (kind === 2) {
      const length = varint()
      found.push([key >> 3, data.subarray(at, at + length)])
      at += length
    } else throw new Error(`there is no wire type ${kind}`)
  }
  return found
}

function readEvent(data: Buffer): ReadEvent {
  const event: ReadEvent = {}
  for (const [number, value] of fields(data)) {
    if (number === 2) event.step = value as number
    if (number === 3) event.version = String(value)
    if (number === 7) event.start = true
    if (number !== 5) continue
    event.scalars = Object.fromEntries(
      fields(value as Buffer).map(([, one]) => {
        const [name, scalar] = fields(one as Buffer).map(([, part]) => part)
        return [String(name), scalar as number]
      }),
    )
  }
  return event
}
