// The training text of a made model: questions of the built-in tasks, answered in several ways. They are warm-start
// questions, which neither training nor evaluation asks, so that later gains by reinforcement are skill and not
// recall.
//
// As with any base model, only part of the text has the form that the verifier expects. The rest states the answer in
// plain words or leaves the reasoning out. So the model can do part of each task, and reinforcement has something
// real to find: the accepted form, and the reasoning that leads to right answers. Tasks with turns are mostly played
// at random, which shows the rules but little of how to win.

import { beginPlay, playOn, type Random, type Task, transcriptOf } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type Instance } from '../../protocol/train/index.ts'
import type { Recipe, Style } from './recipes.ts'

const MOVES = ['U', 'D', 'L', 'R']
const MAX_MOVES = 8

export interface Example {
  task: Task
  instance: Instance
  text: string
}

export function drawExample(
  { tasks: parts, styles, won }: Recipe,
  tasks: readonly Task[],
  random: Random,
): Example {
  const u = random()
  let below = 0
  const task =
    tasks.find(({ name }) => {
      below += parts[name]!.share
      return u < below
    }) ?? tasks[0]!
  const { drawn } = parts[task.name]!
  const difficulty = drawn[Math.floor(random() * drawn.length)]!
  const instance = task.generate({
    seed: Math.floor(random() * HELD_OUT_SEED),
    difficulty,
    warmStart: true,
  })
  const text = task.environment
    ? played({ task, instance, won }, random)
    : answerIn(drawStyle(styles, random), instance)
  return { task, instance, text }
}

export function answerIn(style: Style, { steps, key }: Instance): string {
  const lines = steps.filter(({ level, aside }) => level > 1 && !aside).map(({ text }) => text)
  if (style === 'bare') return `<answer>${key}</answer>`
  if (style === 'untagged') return [...lines, `So it is ${key}.`].join('\n')
  return [...lines, `<answer>${key}</answer>`].join('\n')
}

function drawStyle(styles: Recipe['styles'], random: Random): Style {
  let u = random()
  for (const [style, share] of Object.entries(styles) as [Style, number][]) {
    u -= share
    if (u < 0) return style
  }
  return 'worked'
}

/** The best way with probability `won`, else a random one. */
function played(
  { task, instance, won }: { task: Task; instance: Instance; won: number },
  random: Random,
): string {
  if (random() < won) return instance.key
  let play = beginPlay(task.environment!, instance)
  while (!play.done && play.turns.length < MAX_MOVES)
    play = playOn(task.environment!, play, MOVES[Math.floor(random() * MOVES.length)]!)
  return transcriptOf(play)
}
