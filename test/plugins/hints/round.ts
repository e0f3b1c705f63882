// A node's round on a scripted policy: groups of plain prompts, what `extend` asks for until it asks for no more, `group`,
// `observe`. Which rollouts are right is told by a function of what stands around the question; the task's own verifier
// judges them all.

import type { Hooks, Request, Task } from '../../../protocol/plugin/index.ts'
import { type ScriptedContext, tokensOf } from '../../../protocol/plugin/testing/index.ts'
import type { Group, PromptCoordinates } from '../../../protocol/train/index.ts'
import { contentId } from '../../../protocol/wire/index.ts'
import { groupOf, rolloutOf } from '../samples.ts'

/** Whether rollout `index` of a prompt is right, by what stands after the question ('' for the plain prompt). */
export type Right = (after: string, index: number, prompt: PromptCoordinates) => boolean

export interface Landing {
  context: ScriptedContext
  task: Task
  right: Right
  /** Of the plugin, to name it as the origin. */
  plugin: string
}

export function landed(
  { prompt, rollouts, rewrite, parent, id }: Omit<Request, 'id' | 'keep'> & { id?: string },
  { context, task, right, plugin }: Landing,
): Group {
  const { key } = task.generate(prompt)
  const texts = Array.from({ length: rollouts }, (_, i) => {
    const answer = right(rewrite?.after ?? '', i, prompt) ? key : `${key}1`
    return `${rewrite?.after ?? 'plain'} ${i}\n<answer>${answer}</answer>`
  })
  const origin = id === undefined ? undefined : { plugin, request: id, ...(parent && { parent }) }
  return groupOf(
    texts.map((text) =>
      rolloutOf(context.verify(prompt, text).score, text.length, { text, tokens: tokensOf(text) }),
    ),
    {
      id: contentId(prompt, texts),
      prompt,
      conditioning: context.conditioning(prompt, rewrite),
      arm: rewrite?.arm ?? 'base',
      ...(rewrite?.tainted && { tainted: true }),
      ...(origin && { origin }),
    },
  )
}

export interface Round {
  groups: Group[]
  /** What was asked for, call by call. */
  asked: Request[][]
}

export async function playRound(
  hooks: Hooks,
  plain: readonly Group[],
  landing: Landing,
  tokensLeft = Number.POSITIVE_INFINITY,
): Promise<Round> {
  const { context } = landing
  const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }
  const done = new Map<string, Group>()
  const asked: Request[][] = []
  const kept: Group[] = []
  for (;;) {
    const more =
      (await hooks.extend?.(
        { ...view, groups: plain, landed: done, asked: asked.length, tokensLeft },
        context,
      )) ?? []
    if (more.length === 0) break
    asked.push(more)
    for (const request of more) {
      if (done.has(request.id)) throw new Error(`${request.id} was asked for twice`)
      const group = landed(request, landing)
      done.set(request.id, group)
      if (request.keep === 'train') kept.push(group)
    }
  }
  const all = [...plain, ...kept]
  const groups = (await hooks.group?.(all, { ...view, at: 'round' }, context)) ?? all
  await hooks.observe?.(groups, context)
  return { groups, asked }
}
