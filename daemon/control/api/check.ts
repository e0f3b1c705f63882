// Validates request bodies. A dozen small shapes do not need a library. Unknown fields are refused, so that misspelt
// fields are noticed.

import type { CommandName, Commands } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'

type Fields = Record<string, { what: string; ok: (value: unknown) => boolean; required?: boolean }>

const text = {
  what: 'a string of 1 to 8192 characters',
  ok: (v: unknown) => typeof v === 'string' && v.length > 0 && v.length <= 8192,
}

const SHAPES: { [Name in CommandName]: Fields } = {
  join: { target: { ...text, required: true } },
  leave: {},
  invite: {},
  share: {
    path: { ...text, required: true },
    to: {
      what: 'a list of 1 to 64 peers',
      ok: (v) => Array.isArray(v) && v.length > 0 && v.length <= 64 && v.every(text.ok),
    },
  },
  fetch: { source: { ...text, required: true }, path: { ...text, required: true } },
  pause: {},
  resume: {},
  checkpoint: {},
  reconfigure: {
    settings: {
      what: 'an object with at most 64 strings',
      ok: (v) =>
        typeof v === 'object' &&
        v !== null &&
        !Array.isArray(v) &&
        Object.keys(v).length <= 64 &&
        Object.values(v).every((value) => typeof value === 'string' && value.length <= 8192),
    },
  },
  audit: { peer: text, all: { what: 'true or false', ok: (v) => typeof v === 'boolean' } },
  mute: {
    peer: { ...text, required: true },
    on: { what: 'true or false', ok: (v) => typeof v === 'boolean', required: true },
  },
  stop: { checkpoint: { what: 'true or false', ok: (v) => typeof v === 'boolean' } },
  eval: {
    tasks: {
      what: 'a list of 1 to 64 task names',
      ok: (v) => Array.isArray(v) && v.length > 0 && v.length <= 64 && v.every(text.ok),
    },
    promptsPerTask: {
      what: 'a whole number from 1 to 100000',
      ok: (v) => Number.isInteger(v) && (v as number) >= 1 && (v as number) <= 100_000,
    },
    samples: {
      what: 'a whole number from 1 to 1024',
      ok: (v) => Number.isInteger(v) && (v as number) >= 1 && (v as number) <= 1024,
    },
    plugins: { what: 'true or false', ok: (v) => typeof v === 'boolean' },
  },
}

export function checkRequest<Name extends CommandName>(name: Name, body: unknown): Commands[Name][0] {
  const shape = SHAPES[name]
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new WaggleError('E_CONTROL', `${name}: the request must be a JSON object`)
  }
  for (const key of Object.keys(body)) {
    if (!Object.hasOwn(shape, key)) {
      const known = Object.keys(shape)
      throw new WaggleError('E_CONTROL', `${name}: there is no field "${key.slice(0, 64)}"`, {
        hint: known.length > 0 ? `Fields: ${known.join(', ')}.` : 'This request has no fields.',
      })
    }
  }
  for (const [key, field] of Object.entries(shape)) {
    const value = (body as Record<string, unknown>)[key]
    if (value === undefined ? field.required : !field.ok(value)) {
      throw new WaggleError('E_CONTROL', `${name}: "${key}" must be ${field.what}`)
    }
  }
  return body as Commands[Name][0]
}
