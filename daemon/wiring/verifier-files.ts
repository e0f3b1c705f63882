// Loads a verifier from a file that the config names. Before the node starts, it scores the answers of some rows; a
// verifier that throws, or gives different scores for the same answer, is refused.
//
// Its input may come from a peer, so calls have a time limit.

import {
  Fault,
  type FileVerifier,
  type Row,
  type Scored,
  type Settings,
  VERIFIERS,
} from '../../plugins/tasks/dataset/index.ts'
import {
  type Answered,
  type CustomVerifier,
  PLUGIN_API,
  type SettingsSchema,
} from '../../protocol/plugin/index.ts'
import { withDeadline } from '../policy/chat/deadline.ts'
import { loadOwnFile } from './own-file.ts'

const MAX_MS = 250
const MAX_PARTS = 16
/** Number of rows scored before the node starts. */
const TRIED_ROWS = 32

export interface VerifierParts {
  /** Called if it throws, hangs or gives no score while the node runs. The answer then scores 0. */
  onTrouble(trouble: { name: string; message: string }): void
}

export interface LoadedVerifier {
  judge: { verifier: FileVerifier; settings: Settings }
  /** Its first problem on these rows; undefined if there is none. */
  problemWith(rows: readonly Row[]): string | undefined
}

/** Rejects with Fault. */
export async function loadVerifier(
  path: string,
  given: Settings,
  { onTrouble }: VerifierParts,
): Promise<LoadedVerifier> {
  if (/^https?:/.test(path))
    throw new Fault(
      'that is an address, and a verifier is a name or a file of yours. A program that gives rewards over HTTP does so as an agent: docs/agents.md',
    )
  const { value, digest } = await loadOwnFile(path, 'verifier')
  const custom = asVerifier(value)
  const settings = await readSettings(custom.settings, given)
  let failures = 0
  const verifier: FileVerifier = {
    name: custom.name,
    digest,
    score(answered, now) {
      try {
        return scoreOf(custom, { ...answered, settings: now })
      } catch (error) {
        // Failures 1, 2, 4, 8, ... are reported, so that the log does not fill up.
        failures++
        if (Math.log2(failures) % 1 === 0)
          onTrouble({ name: custom.name, message: `${(error as Error).message}; the answer scores 0` })
        return { score: 0 }
      }
    },
  }
  const problemOn = ({ prompt, answer }: Row): string | undefined => {
    const texts = typeof answer === 'object' ? answer.map(String) : [String(answer)]
    for (const text of [...texts, '']) {
      const answered = {
        prompt,
        answer,
        completion: `<answer>${text}</answer>`,
        text,
        tagged: true,
        settings,
      }
      const [first, second] = [1, 2].map(() => {
        const { score, parts } = scoreOf(custom, answered)
        return parts ? JSON.stringify({ score, parts }) : String(score)
      })
      if (first !== second)
        return `gives ${first} and then ${second} for the same answer; it must depend only on its input, since peers score the same answer again`
    }
    return undefined
  }
  return {
    judge: { verifier, settings },
    problemWith(rows) {
      const own = rows.filter(({ judge }) => judge.verifier === verifier).slice(0, TRIED_ROWS)
      for (const row of own) {
        try {
          const problem = problemOn(row)
          if (problem !== undefined) return problem
        } catch (error) {
          return `${(error as Error).message}, asked ${JSON.stringify(row.prompt.slice(0, 80))}`
        }
      }
      return undefined
    },
  }
}

function asVerifier(value: unknown): CustomVerifier {
  const given = value as Partial<CustomVerifier> | null | undefined
  if (!given || typeof given !== 'object' || typeof given.score !== 'function')
    throw new Fault('has no verifier as its default export; create one with defineVerifier()')
  if (given.kind !== 'verifier') throw new Fault(`is a ${String(given.kind)}, not a verifier`)
  if (given.api !== PLUGIN_API)
    throw new Fault(`is made for plugin API ${String(given.api)}, this is ${PLUGIN_API}`)
  if (typeof given.name !== 'string' || !/^[a-z][a-z0-9_-]{0,63}$/.test(given.name))
    throw new Fault('its name must be 1 to 64 of a-z, 0-9, _ and -')
  if (VERIFIERS.some(({ name }) => name === given.name))
    throw new Fault(`has the name of a built-in verifier, "${given.name}"; choose another`)
  if (given.settings !== undefined && !given.settings?.['~standard'])
    throw new Fault('its settings must be a schema, such as z.strictObject({ … }) of zod')
  return given as CustomVerifier
}

async function readSettings(schema: SettingsSchema<unknown> | undefined, given: Settings): Promise<Settings> {
  if (schema === undefined) {
    const [key] = Object.keys(given)
    if (key !== undefined) throw new Fault(`has no settings, so no "${key}"`)
    return {}
  }
  const checked = (await schema['~standard'].validate(given)) as {
    value?: unknown
    issues?: readonly { message: string; path?: readonly unknown[] }[]
  }
  if (checked.issues)
    throw new Fault(
      checked.issues
        .map(({ message, path }) => `${path?.length ? `${path.join('.')}: ` : ''}${message}`)
        .join('; '),
    )
  const value: unknown = checked.value ?? {}
  const copy = JSON.parse(JSON.stringify(value)) as unknown
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw new Fault('its settings must be a table of plain values')
  return copy as Settings
}

function scoreOf(custom: CustomVerifier, answered: Answered): Scored {
  let given: unknown
  try {
    given = withDeadline(`verifier ${custom.name}`, MAX_MS, () => custom.score(answered))
  } catch (error) {
    throw new Error(
      error instanceof Error ? error.message.slice(0, 300) : 'threw something that is not an Error',
    )
  }
  if (isPromise(given)) {
    given.then(undefined, () => {})
    throw new Error('gave a promise; its score must come at once, so `score` cannot be async')
  }
  const { score, parts } = (typeof given === 'object' && given !== null ? given : { score: given }) as {
    score?: unknown
    parts?: unknown
  }
  const value = typeof score === 'boolean' ? Number(score) : score
  if (!(typeof value === 'number' && value >= 0 && value <= 1))
    throw new Error(`gave ${described(score)} as a score; it must be a number from 0 to 1, true or false`)
  return { score: value, ...(parts === undefined ? {} : { parts: partsOf(parts) }) }
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/** A text in quotes, so that "true" is not taken for true. */
function described(value: unknown): string {
  if (typeof value === 'string') return `the text ${JSON.stringify(value.slice(0, 60))}`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return value === undefined ? 'nothing' : String(value).slice(0, 60)
}

function partsOf(given: unknown): Record<string, number> {
  const parts = typeof given === 'object' && given !== null ? Object.entries(given) : []
  const isPart = ([name, value]: [string, unknown]): boolean =>
    /^[a-z][a-z0-9_]{0,63}$/.test(name) && typeof value === 'number' && Number.isFinite(value)
  if (parts.length === 0 || parts.length > MAX_PARTS || !parts.every(isPart))
    throw new Error(
      `gave parts of a score that are not 1 to ${MAX_PARTS} finite numbers with names of a-z, 0-9 and _`,
    )
  return Object.fromEntries(parts)
}
