// Whoever controls a node: what it may ask, and what answers.

import { ownerAsks } from '../../agents/index.ts'
import type { LiveConfig } from '../../config/live.ts'
import type { NodeControl } from '../../control/node/node.ts'
import { parameterCount } from '../../engine/decoder.ts'
import { hasRoomToMix } from '../../policy/memory-plan/index.ts'
import { openControl } from '../control.ts'
import { secretFiles } from '../home/secrets.ts'
import { createReconfigure } from '../reconfigure.ts'
import type { NodeContext } from './context.ts'
import type { Learning } from './learning.ts'
import type { Plugins } from './plugins.ts'
import type { Trained } from './policy.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'
import type { Work } from './work.ts'

export function openNodeControl(
  { options, started, machine, settings, changed }: NodeContext,
  live: LiveConfig,
  parts: Store & Plugins & Trained & Records & Learning & Work,
): NodeControl {
  const { config, paths } = options
  const { node, log, events, phases, closers, finish } = started
  const { now, after } = machine
  const { models, tasks, host, policies, swarm, journal, showcase, core, loops, wishes, state } = parts
  const { serving, agents, conversations, requests, saving, record, heads, audits, space, limits, pool } =
    parts
  const { found, base, model, plan } = models
  return openControl(
    {
      settings,
      facts: {
        node,
        model: {
          ...{ name: found.name, title: base.title, path: found.directory },
          parameters: parameterCount(model.spec),
          adapterRank: plan.adapter?.rank ?? null,
          maxCompletionTokens: config.model.max_completion_tokens,
        },
        secrets: secretFiles(config, paths),
        tasks: tasks.chosen.map(({ task, difficulty }) => ({
          ...{ name: task.name, difficulty },
          ...{ min: task.difficulty.min, max: task.difficulty.max },
        })),
      },
    },
    {
      ...{ policy: policies.policy, plugins: host, tasks, swarm, journal, events, showcase, core, loops },
      ...{ wishes, state, changed, requests, phases, after, save: saving.save, heads, now, space, finish },
      audits,
      agents: () => agents?.info(),
      serving: () => ((serving.url ?? agents?.url) === undefined ? undefined : serving.info()),
      conversations: (request) => ownerAsks(request, { conversations, tokenizer: model.tokenizer }),
      trained: record.phases,
      pool: () => pool.counts(),
      limits: limits.info,
      closeAll: closers.closeAll,
      reconfigure: createReconfigure(
        { config: live, file: paths.config, canMix: hasRoomToMix(plan) },
        { ...options, log, onChange: () => changed.wake() },
      ),
    },
  )
}
