// Decides when a node saves a checkpoint by itself: every N steps, and every few minutes for models with slow
// steps. The first timed checkpoint comes within a minute of the start, so that a node that is killed
// repeatedly still makes progress. Timed saves take at most a fiftieth of the time, however large the model.

interface CheckpointScheduleOptions {
  /** The settings as they are now. */
  settings(): CheckpointSettings
  /** Version of the checkpoint that the node continues. */
  version: number
}

interface CheckpointSettings {
  /** Policy versions between checkpoints. */
  everySteps: number
  /** Seconds between timed checkpoints; 0 turns them off. */
  everySeconds: number
}

interface CheckpointSchedule {
  /** `isChanged`: the weights are not those of the last save. An average changes them without a new version. */
  isDue(version: number, isChanged?: boolean): boolean
  /**
   * Runs a save, scheduled or requested, and restarts the interval. A failed save restarts it as well, so
   * that a full disk is not retried at every step.
   */
  run<Saved>(version: number, save: () => Promise<Saved>): Promise<Saved>
}

const FIRST_SECONDS = 60
/** After a save, the next timed one waits at least this many times its duration. */
const COST = 50

export function createCheckpointSchedule(
  options: CheckpointScheduleOptions,
  { monotonic }: { monotonic(): number },
): CheckpointSchedule {
  let last = options.version
  let since = monotonic()
  /** Duration of this run's last save. */
  let tookMs: number | undefined

  return {
    isDue(version, isChanged = false) {
      const { everySteps, everySeconds } = options.settings()
      if (version === last && !isChanged) return false
      if (Math.floor(version / everySteps) !== Math.floor(last / everySteps)) return true
      if (everySeconds === 0) return false
      const pause =
        tookMs === undefined
          ? Math.min(FIRST_SECONDS, everySeconds)
          : Math.max((COST * tookMs) / 1000, everySeconds)
      return monotonic() - since >= pause * 1000
    },
    async run(version, save) {
      const began = monotonic()
      try {
        return await save()
      } finally {
        since = monotonic()
        tookMs = since - began
        last = version
      }
    },
  }
}
