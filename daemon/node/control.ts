// What a node does when it is asked, joined to its parts: pause, evaluate, save, change settings, stop.

import type { CheckpointInfo } from '../../protocol/api/index.ts'
import { EXIT, WaggleError } from '../../protocol/errors.ts'
import type { Config } from '../config/schema.ts'
import type { EventLog } from '../control/event-log.ts'
import type { Journal } from '../control/journal.ts'
import type { NodeControl } from '../control/node.ts'
import { createNodeControl, type NodeFacts, type NodeParts } from '../control/node-control.ts'
import type { Host } from '../host/host.ts'
import type { Loops } from '../loops.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { evaluatePolicy } from '../rollout/evaluation-loop.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import type { Waker } from '../rollout/waker.ts'
import type { CheckpointRequests } from '../trainer/checkpoint-requests.ts'

/** What a person has asked for, and the loops look at. */
export interface Wishes {
  paused: boolean
  stopping: boolean
}

export interface ControlParts
  extends Pick<NodeParts, 'swarm' | 'showcase' | 'pool' | 'now' | 'diskFree' | 'reconfigure'> {
  policy: LivePolicy
  host: Host
  tasks: TaskBook
  journal: Journal
  events: EventLog
  loops: Loops
  wishes: Wishes
  changed: Waker
  requests: CheckpointRequests<CheckpointInfo>
  save(): Promise<CheckpointInfo>
  /** Takes everything down but the control server. */
  closeAll(): Promise<void>
  /** Everything is down. */
  finish(status: number): void
}

export function openControl(
  { config, facts }: { config: Config; facts: NodeFacts },
  parts: ControlParts,
): NodeControl {
  const { policy, host, tasks, journal, events, loops, wishes, changed, requests, now } = parts
  return createNodeControl(facts, {
    ...parts,
    telemetry: journal.telemetry,
    sharing: () => loops.learner.sharing(),

    state() {
      if (wishes.stopping) return { state: 'STOPPING' }
      if (wishes.paused) return { state: 'PAUSED' }
      if (journal.trouble !== undefined) return { state: 'DEGRADED', detail: journal.trouble }
      return policy.reference().version === 0 ? { state: 'GENERATING' } : { state: 'TRAINING' }
    },

    setPaused(value) {
      wishes.paused = value
      events.emit({ type: 'state', state: value ? 'PAUSED' : 'TRAINING' })
      changed.wake()
    },

    async evaluate({ tasks: names, promptsPerTask, samples, plugins = false }, signal) {
      const step = policy.reference().version
      const acting = plugins ? await host.evaluation({ step }) : undefined
      const found = await evaluatePolicy(
        {
          promptsPerTask: promptsPerTask ?? config.eval.prompts_per_task,
          maxNewTokens: config.model.max_completion_tokens,
          ...(names ? { tasks: names } : {}),
          ...(samples === undefined ? {} : { samples }),
          ...(signal ? { signal } : {}),
        },
        { policy, tasks, now, compose: acting?.compose },
      )
      return { ...found, plugins }
    },

    checkpoint() {
      const made = requests.request()
      changed.wake()
      return made
    },

    async stop({ checkpoint }) {
      wishes.stopping = true
      events.emit({ type: 'state', state: 'STOPPING' })
      await loops.end()
      requests.refuse(new WaggleError('E_CONTROL', 'the node is stopping'))
      // A checkpoint that cannot be made is no reason to stay: the one before it is still there.
      const failed = checkpoint ? await parts.save().then(() => undefined, asError) : undefined
      await parts.closeAll()
      parts.finish(failed ? EXIT.unexpected : EXIT.ok)
      if (failed) throw failed
    },
  })
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
