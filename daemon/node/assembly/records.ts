// What a node tells of itself: the journal, sample groups, TensorBoard.

import { createJournal } from '../../control/journal/journal.ts'
import { createShowcase } from '../../control/journal/showcase.ts'
import { openTensorBoard } from '../../control/journal/tensorboard.ts'
import { createTrainedOn } from '../../trainer/trained-on.ts'
import { checkpointInfo } from '../saving.ts'
import type { NodeContext } from './context.ts'
import type { Plugins } from './plugins.ts'
import type { Trained } from './policy.ts'

export type Records = Awaited<ReturnType<typeof openRecords>>

export async function openRecords(
  { options, started, machine, settings, late }: NodeContext,
  { tasks, restored, steps, evaluations }: Plugins & Trained,
) {
  const { now } = machine
  const { events, closers } = started
  const showcase = createShowcase({}, tasks)
  const trainedOn = createTrainedOn({ now })
  trainedOn.restore(restored?.state.trainedOn)
  const journal = await createJournal(
    { learningRate: () => settings().training.learning_rate, logFile: options.paths.logFile },
    { events, showcase, steps, evaluations, trainedOn, now },
  )
  late.notice = (message) => journal.notice('engine', message)
  late.tellTrouble = journal.plugin
  if (restored) {
    const { generated = 0, published = 0 } = restored.state.counters
    Object.assign(journal.telemetry.counters, { generated, published })
    journal.telemetry.checkpoint(checkpointInfo(restored.checkpoint))
  }
  const { tensorboard } = options.config.metrics
  if (tensorboard !== undefined) {
    const sink = await openTensorBoard(
      {
        directory: tensorboard,
        firstStep: (restored?.state.version ?? 0) + 1,
        writer: `${machine.hostname.replaceAll(/[^\w-]/g, '_')}.${machine.pid}`,
      },
      {
        events,
        clock: now,
        onTrouble: (error) =>
          journal.notice('tensorboard', `some steps are missing in the event files: ${error}`),
      },
    )
    closers.add(sink.close)
  }
  return { showcase, trainedOn, journal }
}
