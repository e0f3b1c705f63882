// Tokens that open the node's HTTP servers: in a file of their owner, in a request, and compared.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { dirname } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'

/** The token that a request brings, as "Authorization: Bearer …" or, as some clients send it, as x-api-key. */
export function tokenIn({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const key = headers['x-api-key']
  return (
    /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? (typeof key === 'string' ? key : undefined)
  )
}

/** Compares in constant time. */
export function isSameToken(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Reads the token from the file, or creates it. */
export function tokenOf(file: string): string {
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token.length >= 16) return token
    throw new WaggleError('E_HOME', `the token in ${file} is too short`, {
      hint: 'Delete the file; the next start creates a new one.',
    })
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new WaggleError('E_HOME', `cannot read ${file}: ${(cause as Error).message}`, {
        hint: 'Check its owner and permissions.',
        cause,
      })
    }
  }
  return newToken(file)
}

function newToken(file: string): string {
  const token = randomBytes(24).toString('base64url')
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, `${token}\n`, { mode: 0o600 })
    chmodSync(file, 0o600)
  } catch (cause) {
    throw new WaggleError('E_HOME', `cannot write ${file}: ${(cause as Error).message}`, {
      hint: 'Check the owner and permissions of its folder, and whether the disk is full.',
      cause,
    })
  }
  return token
}
