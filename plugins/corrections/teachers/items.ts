// What teachers are asked about: own answers, and what a self-teacher is shown.

import type { Context } from '../../../protocol/plugin/index.ts'
import type { Group, PromptCoordinates, Rollout } from '../../../protocol/train/index.ts'
import { isSelf, withExample, withSolution } from './self.ts'

/** A prompt that this node has answered itself, and a group of its answers if one is right. */
export interface Answered {
  prompt: PromptCoordinates
  group: Group | undefined
}

/** What is taught in a batch. */
export interface Lesson {
  teacher: string
  weight: number
}

/** An answer that a teacher is to score. */
interface Asked {
  group: Group
  g: number
  r: number
  rollout: Rollout
  lesson: Lesson
}

/** What the teacher scores: the answer, after what the student saw or what a self-teacher is shown. None if it cannot. */
export function itemOf(asked: Asked, context: Context) {
  const { group, rollout, lesson } = asked
  if (!isOwn(rollout)) return []
  const { tokens: completion } = rollout
  let conditioning = rollout.conditioning ?? group.conditioning
  if (isSelf(lesson.teacher)) {
    const rewrite = rollout.turns ? undefined : shownTo(lesson.teacher, { ...group, group }, rollout, context)
    if (!rewrite) return []
    conditioning = context.conditioning(group.prompt, rewrite)
  }
  if (conditioning.length + completion.length > context.limits.context) return []
  return [{ ...asked, conditioning, completion, ...(!rollout.turns && { prompt: group.prompt }) }]
}

export function shownTo(
  teacher: 'example' | 'solution',
  { prompt, group }: Answered,
  taught: Rollout | undefined,
  context: Context,
) {
  if (teacher === 'solution') return withSolution(prompt, context)
  return group && withExample(group, taught, context)
}

/** Sampled here, for this prompt. */
export function isOwn({ author, taught }: Rollout): boolean {
  return author === undefined && !taught
}
