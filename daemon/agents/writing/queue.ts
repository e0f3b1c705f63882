// A bounded queue: some calls are answered side by side, others wait for their turn.

import { HttpError } from '../../http/index.ts'

export interface QueueOptions {
  /** Most calls answered side by side, and most that wait. */
  maxRunning: number
  maxWaiting: number
}

interface Queue {
  readonly running: number
  readonly waiting: number
  /** Throws 429 if the queue is full. */
  admit(): void
  /** Resolves when it is the call's turn; `end` must follow. Rejects, and leaves the queue, if `signal` is aborted. */
  begin(signal: AbortSignal): Promise<void>
  /** A call has ended that was answered for so long. */
  end(seconds: number): void
}

/** What a call is taken to last until one has ended, in seconds. */
const GUESS = 2
const LONGEST_RETRY = 60

export function createQueue({ maxRunning, maxWaiting }: QueueOptions): Queue {
  const waiting: (() => void)[] = []
  let running = 0
  let usual = GUESS

  const full = (): HttpError => {
    const turns = (waiting.length + 1) / maxRunning
    const retryAfter = Math.min(LONGEST_RETRY, Math.max(1, Math.ceil(turns * usual)))
    return new HttpError(429, 'busy', `${running} calls are being answered and ${waiting.length} wait`, {
      retryAfter,
      hint: `Try again in ${retryAfter} s, as the Retry-After header says.`,
    })
  }

  return {
    get running() {
      return running
    },
    get waiting() {
      return waiting.length
    },
    admit() {
      if (running >= maxRunning && waiting.length >= maxWaiting) throw full()
    },
    begin(signal) {
      if (running < maxRunning) {
        running += 1
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.splice(waiting.indexOf(turn), 1)
          reject(new HttpError(499, 'abandoned', 'the client left before its turn'))
        }
        const turn = (): void => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        signal.addEventListener('abort', leave, { once: true })
        waiting.push(turn)
      })
    },
    end(seconds) {
      usual += (seconds - usual) / 8
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    },
  }
}
