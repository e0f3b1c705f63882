import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadIdentity } from '../../../daemon/swarm/peers/identity.ts'

let home: string
let path: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'waggle-identity-'))
  path = join(home, 'state', 'identity.key')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test('the first start makes a key that only its owner can read, and the next finds it', async () => {
  const first = await loadIdentity({ path })
  expect(first.created).toBe(true)
  expect(first.peerId).toMatch(/^12D3KooW\w{44}$/)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(home, 'state'))).toEqual(['identity.id', 'identity.key'])
  const second = await loadIdentity({ path })
  expect(second).toMatchObject({ peerId: first.peerId, created: false })
})

test('a flipped bit in the key is detected: the node does not start under another identity', async () => {
  const { peerId } = await loadIdentity({ path })
  const pem = readFileSync(path, 'utf8').split('\n')
  const der = Buffer.from(pem[1]!, 'base64')
  der[der.length - 1]! ^= 1
  writeFileSync(path, [pem[0], der.toString('base64'), ...pem.slice(2)].join('\n'))
  await expect(loadIdentity({ path })).rejects.toMatchObject({
    code: 'E_IDENTITY',
    message: expect.stringMatching(
      new RegExp(`damaged or belongs to another node.*this home’s is ${peerId}`),
    ),
    hint: expect.stringContaining('identity.id'),
  })
})

test('a home of before the ID was kept gets it, and a new key is a new ID', async () => {
  const first = await loadIdentity({ path })
  const id = join(home, 'state', 'identity.id')
  rmSync(id)
  await loadIdentity({ path })
  expect(readFileSync(id, 'utf8').trim()).toBe(first.peerId)
  rmSync(path)
  const second = await loadIdentity({ path })
  expect(second.peerId).not.toBe(first.peerId)
  expect((await loadIdentity({ path })).peerId).toBe(second.peerId)
})

test('of several that start at once, all get the same key', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => loadIdentity({ path })))
  expect(new Set(all.map(({ peerId }) => peerId)).size).toBe(1)
})

test('the secret does not print', async () => {
  const identity = await loadIdentity({ path })
  const secret = identity.key.export({ format: 'jwk' }).d!
  const pem = readFileSync(path, 'utf8').split('\n')[1]!
  for (const text of [inspect(identity, { depth: 9, showHidden: true }), JSON.stringify(identity)]) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(pem)
  }
})

describe('an unusable key is reported and never replaced', () => {
  const damage: Array<[string, RegExp, (good: string) => void]> = [
    ['cut in half', /damaged/, (good) => writeFileSync(path, good.slice(0, 60), { mode: 0o600 })],
    ['empty', /damaged/, () => writeFileSync(path, '', { mode: 0o600 })],
    ['huge', /damaged/, () => writeFileSync(path, 'x'.repeat(10_000), { mode: 0o600 })],
    [
      'with a bit flipped',
      /damaged/,
      (good) => writeFileSync(path, good.replace('MC4', 'MD4'), { mode: 0o600 }),
    ],
    [
      'of another kind',
      /not Ed25519/,
      () => {
        const { privateKey } = generateKeyPairSync('x25519')
        writeFileSync(path, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
      },
    ],
    ['readable by others', /other users can read/, () => chmodSync(path, 0o644)],
  ]
  for (const [what, message, spoil] of damage) {
    test(what, async () => {
      await loadIdentity({ path })
      spoil(readFileSync(path, 'utf8'))
      const before = readFileSync(path, 'utf8')
      await expect(loadIdentity({ path })).rejects.toMatchObject({
        code: 'E_IDENTITY',
        message: expect.stringMatching(message),
        hint: expect.any(String),
      })
      expect(readFileSync(path, 'utf8')).toBe(before)
    })
  }

  test('a folder in its place', async () => {
    await expect(loadIdentity({ path: home })).rejects.toMatchObject({ code: 'E_IDENTITY' })
  })

  test('a folder that cannot be made', async () => {
    writeFileSync(join(home, 'state'), '')
    await expect(loadIdentity({ path })).rejects.toMatchObject({
      code: 'E_IDENTITY',
      hint: expect.any(String),
    })
  })
})
