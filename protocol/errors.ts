// Every error that a person may see: a code, what happened, and what to do about it.
//
// Expected errors are WaggleErrors and print without a stack; anything else is a bug and prints with one. Codes are
// documented here, in one place, and are never reused for another meaning.

export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  notRunning: 3,
  config: 4,
  refused: 5,
  doctor: 6,
  swarmRules: 7,
  tryAgain: 75,
  interrupted: 130,
} as const

/** code -> [exit status, meaning]. The reference page and `waggle help <code>` are made from this table. */
export const ERROR_CODES = {
  E_USAGE: [EXIT.usage, 'the command line cannot be understood'],
  E_NOT_RUNNING: [EXIT.notRunning, 'no daemon answers for this home'],
  E_CONFIG: [EXIT.config, 'the config file is not valid'],
  E_HOME: [EXIT.config, 'the home directory cannot be used'],
  E_HOME_LOCKED: [EXIT.refused, 'another daemon runs on this home'],
  E_IDENTITY: [EXIT.config, 'the identity key cannot be read'],
  E_MODEL: [EXIT.config, 'the model cannot be loaded'],
  E_CHECKPOINT: [EXIT.config, 'a checkpoint is damaged or of another kind'],
  E_STORE: [EXIT.config, 'the database cannot be opened or written'],
  E_PLUGIN: [EXIT.config, 'a plugin cannot be loaded, or plugins do not fit together'],
  E_TASK: [EXIT.config, 'a task, its version or its difficulty is not known here'],
  E_DATASET: [EXIT.config, 'a dataset cannot be read, or has mistakes in it'],
  E_ENGINE: [EXIT.unexpected, 'the compute engine failed or cannot do what was asked'],
  E_PORT: [EXIT.refused, 'an address to listen on is in use or not allowed'],
  E_PEER: [EXIT.refused, 'a peer cannot be found or reached'],
  E_SWARM_RULES: [EXIT.swarmRules, 'the swarm plays by other rules than this node'],
  E_CONTROL: [EXIT.refused, 'the daemon refused or garbled a control request'],
  E_WIRE: [EXIT.unexpected, 'a message does not follow the wire format'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorDetails {
  /** What to do next; one or two short sentences. */
  hint?: string
  /** Facts for programs: paths, sizes, names. Must be plain JSON. */
  data?: Record<string, unknown>
  cause?: unknown
}

export class WaggleError extends Error {
  override readonly name = 'WaggleError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly data: Record<string, unknown> | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.data = details.data
  }

  get exitStatus(): number {
    return ERROR_CODES[this.code][0]
  }
}
