// Holds records for a while before they are written together. libp2p writes the record of a peer whenever a stream to it
// opens, several times a second, and each time little has changed.

/** undefined: removed. */
type Entry = readonly [key: string, value: Uint8Array | undefined]

interface WriteBehindParts {
  write(entries: readonly Entry[]): Promise<void>
  after(ms: number, run: () => void): () => void
}

export interface WriteBehind {
  set(key: string, value: Uint8Array | undefined): void
  /** What is held, if something is. */
  held(key: string): { value: Uint8Array | undefined } | undefined
  /** Writes what is held. Rejects if it cannot be written; then it is held on. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** A process that is killed loses so much. */
const DELAY_MS = 30_000
/** So many are written at once. While nothing can be written, the newest are held. */
const MAX_HELD = 1000

export function createWriteBehind(_options: object, { write, after }: WriteBehindParts): WriteBehind {
  const held = new Map<string, Uint8Array | undefined>()
  let cancel: (() => void) | undefined
  let last: Promise<void> = Promise.resolve()
  let isWriting = false

  const writeHeld = async (): Promise<void> => {
    const entries = [...held]
    if (entries.length === 0) return
    isWriting = true
    await write(entries).finally(() => {
      isWriting = false
    })
    for (const [key, value] of entries) if (held.get(key) === value) held.delete(key)
  }
  const flush = (): Promise<void> => {
    cancel?.()
    cancel = undefined
    const done = last.then(writeHeld)
    last = done.catch(() => {})
    return done
  }
  const flushOrHold = (): void => {
    flush().catch(() => {
      for (const key of held.keys()) if (held.size > MAX_HELD) held.delete(key)
      flushLater()
    })
  }
  const flushLater = (): void => {
    cancel ??= after(DELAY_MS, flushOrHold)
  }

  return {
    set(key, value) {
      held.delete(key)
      held.set(key, value)
      if (held.size >= MAX_HELD && !isWriting) flushOrHold()
      else flushLater()
    },
    held: (key) => (held.has(key) ? { value: held.get(key) } : undefined),
    flush,
    async close() {
      await flush().catch(() => {})
      cancel?.()
    },
  }
}
