// Checkpoints requested while the node trains. They are saved between two steps, while nothing changes.

export interface CheckpointRequests<Made> {
  request(): Promise<Made>
  /** Saves one checkpoint for all waiting requests, if there are any. */
  serve(): Promise<void>
  /** Rejects all waiting requests, and all later ones. */
  refuse(error: unknown): void
}

export function createCheckpointRequests<Made>(save: () => Promise<Made>): CheckpointRequests<Made> {
  let waiting: { resolve(made: Made): void; reject(error: unknown): void }[] = []
  let refused: { error: unknown } | undefined
  return {
    request: () =>
      refused
        ? Promise.reject(refused.error)
        : new Promise((resolve, reject) => waiting.push({ resolve, reject })),
    async serve() {
      const served = waiting
      waiting = []
      if (served.length === 0) return
      await save().then(
        (made) => {
          for (const { resolve } of served) resolve(made)
        },
        (error: unknown) => {
          for (const { reject } of served) reject(error)
        },
      )
    },
    refuse(error) {
      refused = { error }
      for (const { reject } of waiting.splice(0)) reject(error)
    },
  }
}
