// Connects control requests to the parts of the node: pause, evaluate, save, change settings, stop.

import {
  type At,
  type CheckpointInfo,
  type Evaluation,
  type Phases,
  percent,
} from '../../protocol/api/index.ts'
import { EXIT, WaggleError } from '../../protocol/errors.ts'
import { recipeInfo } from '../config/recipes/compare.ts'
import type { Config } from '../config/schema.ts'
import type { EventLog } from '../control/journal/event-log.ts'
import type { Journal } from '../control/journal/journal.ts'
import type { NodeControl } from '../control/node/node.ts'
import { createNodeControl, type NodeFacts, type NodeParts } from '../control/node/node-control.ts'
import type { NodeCore } from '../core/core.ts'
import type { PluginHost } from '../host/host.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { evaluatePolicy } from '../rollout/evaluation/evaluation-loop.ts'
import type { TaskBook } from '../rollout/tasks.ts'
import type { Waker } from '../rollout/waker.ts'
import type { CheckpointRequests } from '../trainer/checkpoints/checkpoint-requests.ts'
import type { NodeAudits } from './audits/audits.ts'
import { tellPhases } from './facts/tell-phases.ts'
import type { Loops } from './loops.ts'
import type { NodeState, Wishes } from './state.ts'

export interface ControlParts
  extends Pick<
    NodeParts,
    | 'swarm'
    | 'showcase'
    | 'pool'
    | 'now'
    | 'space'
    | 'limits'
    | 'heads'
    | 'reconfigure'
    | 'agents'
    | 'serving'
    | 'conversations'
    | 'trained'
  > {
  policy: LivePolicy
  plugins: PluginHost
  audits: Pick<NodeAudits, 'audit'>
  tasks: TaskBook
  journal: Journal
  events: EventLog
  core: Pick<NodeCore, 'learner' | 'next'>
  phases: Phases
  after(ms: number, run: () => void): () => void
  loops: Loops
  wishes: Wishes
  state: NodeState
  changed: Waker
  requests: CheckpointRequests<CheckpointInfo>
  save(): Promise<CheckpointInfo>
  /** Closes everything except the control server. */
  closeAll(at?: At): Promise<void>
  /** Called when everything else is down. */
  finish(status: number): void
}

export function openControl(
  { settings, facts }: { settings(): Config; facts: NodeFacts },
  parts: ControlParts,
): NodeControl {
  const { policy, plugins, tasks, journal, core, loops, wishes, state, changed, requests, phases, now } =
    parts
  const stopping = new AbortController()
  return createNodeControl(facts, {
    ...parts,
    telemetry: journal.telemetry,
    sharing: () => core.learner.sharing(),
    next: () => core.next,
    recipe: () => recipeInfo(settings(), facts.model.parameters),
    async follow(name, { onProgress }, work) {
      const stop = onProgress && tellPhases({ phases, name, onProgress }, parts)
      return await work().finally(stop)
    },

    state: state.now,

    setPaused(value) {
      wishes.paused = value
      state.tell()
      changed.wake()
    },

    async evaluate({ tasks: names, promptsPerTask, samples, plugins: withPlugins = false }, signal) {
      const step = policy.reference().version
      const acting = withPlugins ? await plugins.evaluation({ step }) : undefined
      const found = await evaluatePolicy(
        {
          promptsPerTask: promptsPerTask ?? settings().eval.prompts_per_task,
          maxNewTokens: settings().model.max_completion_tokens,
          ...(names ? { tasks: names } : {}),
          ...(samples === undefined ? {} : { samples }),
          signal: signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal,
        },
        { policy, tasks, now, phases, compose: acting?.compose },
      )
      // The curve is of all tasks, without plugins; other evaluations cannot be compared with it.
      const isWhole = tasks.chosen.every(({ task }) => names?.includes(task.name) ?? true)
      if (isWhole && !withPlugins) {
        const { parts: _parts, overall: _overall, ...evaluation } = found
        journal.evaluation(evaluation)
      } else journal.log('info', partText(found, withPlugins))
      return { ...found, plugins: withPlugins }
    },

    audit: (...asked) => parts.audits.audit(...asked),

    checkpoint() {
      const made = requests.request()
      changed.wake()
      return made
    },

    async stop({ checkpoint }) {
      wishes.stopping = true
      // Nobody waits for an evaluation that somebody asked for.
      stopping.abort(new WaggleError('E_CONTROL', 'the node is stopping'))
      state.tell()
      await loops.end()
      requests.refuse(new WaggleError('E_CONTROL', 'the node is stopping'))
      // The node stops even if saving fails; the previous checkpoint still exists.
      const failed = checkpoint ? await parts.save().then(() => undefined, asError) : undefined
      await phases.run('close', { unit: 'parts' }, (at) => parts.closeAll(at))
      parts.finish(failed ? EXIT.unexpected : EXIT.ok)
      if (failed) throw failed
    },
  })
}

function partText({ step, tasks, prompts }: Evaluation, plugins: boolean): string {
  const figures = Object.entries(tasks).map(([task, share]) => `${task} ${percent(share)}`)
  return `evaluated at step ${step}${plugins ? ' with plugins' : ''}: ${figures.join(', ')} of ${prompts} held-out questions`
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
