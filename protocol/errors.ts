// Errors that a user may see: a code, what happened, and what to do.
//
// Expected errors are WaggleErrors and print without a stack; anything else is a bug and prints with one. All codes are
// defined here, and a code is never reused for another meaning.

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

/** Error code -> [exit status, meaning]. The error reference and `waggle help <code>` are generated from this table. */
export const ERROR_CODES = {
  E_USAGE: [EXIT.usage, 'the command line cannot be understood'],
  E_NOT_RUNNING: [EXIT.notRunning, 'no daemon is running on this home'],
  E_CONFIG: [EXIT.config, 'the config file is not valid'],
  E_HOME: [EXIT.config, 'the home directory cannot be used'],
  E_HOME_LOCKED: [EXIT.refused, 'another daemon runs on this home'],
  E_IDENTITY: [EXIT.config, 'the identity key cannot be read'],
  E_MODEL: [EXIT.config, 'the model cannot be loaded'],
  E_CHECKPOINT: [EXIT.config, 'a checkpoint is damaged or belongs to another model'],
  E_STORE: [EXIT.config, 'the database cannot be opened or written'],
  E_BACKUP: [EXIT.refused, 'a backup cannot be made or restored'],
  E_PLUGIN: [EXIT.config, 'a plugin cannot be loaded, or plugins conflict'],
  E_TASK: [EXIT.config, 'a task, its version or its difficulty is unknown'],
  E_DATASET: [EXIT.config, 'a dataset cannot be read or contains mistakes'],
  E_ENGINE: [EXIT.unexpected, 'the compute engine failed or does not support the request'],
  E_SAMPLER: [EXIT.refused, 'the external sampler cannot be used, or does not sample as this policy would'],
  E_PORT: [EXIT.refused, 'an address to listen on is in use or not allowed'],
  E_PEER: [EXIT.refused, 'a peer cannot be found or reached'],
  E_SWARM_RULES: [EXIT.swarmRules, 'the swarm’s rules differ from this node’s'],
  E_CONTROL: [EXIT.refused, 'a request to the daemon failed'],
  E_WIRE: [EXIT.unexpected, 'a message does not follow the wire format'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorDetails {
  /** What to do next; one or two short sentences. */
  hint?: string
  /** Facts for programs, such as paths, sizes and names, as plain JSON. */
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
