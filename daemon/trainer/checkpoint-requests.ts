// Checkpoints that somebody asks for while the node trains: made between two steps, so that nothing changes under them.

export interface CheckpointRequests<Made> {
  request(): Promise<Made>
  /** Makes one for all who wait, if anybody does. */
  serve(): Promise<void>
  refuse(error: unknown): void
}

export function createCheckpointRequests<Made>(save: () => Promise<Made>): CheckpointRequests<Made> {
  let waiting: { resolve(made: Made): void; reject(error: unknown): void }[] = []
  return {
    request: () => new Promise((resolve, reject) => waiting.push({ resolve, reject })),
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
      for (const { reject } of waiting.splice(0)) reject(error)
    },
  }
}
