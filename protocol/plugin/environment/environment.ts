// Multi-turn tasks: the policy answers, the environment shows the result, and so on until the episode ends.
// Everything is a pure function of the instance and the answers, so a node checks a peer's episode by replaying it.
//
// An episode is one completion: its text is the answers joined by TURN_MARK, and the verifier replays them. A
// turn's reward is what that answer earned. The episode's score is the sum of these rewards: 1 if and only if
// the task was solved, and below 0.5 otherwise.

import { type Instance, MAX_COMPLETION_CHARS } from '../../train/index.ts'
import { PLUGIN_API } from '../plugin.ts'
import type { Environment, Task } from '../task.ts'
import { TURN_MARK } from './turn-mark.ts'

/** Upper limit on the answers of an episode, whatever the environment says. */
export const MAX_TURNS = 64

/** The state of an episode. */
export interface Play {
  state: unknown
  done: boolean
  /** What the policy sees now. */
  observation: string
  turns: ReadonlyArray<{ state: string; observation: string; answer: string; reward: number }>
  /** Sum of the rewards, 0 to 1. */
  score: number
}

export function beginPlay(environment: Environment, instance: Instance): Play {
  const { question: observation } = instance
  return { state: environment.reset(instance), done: false, observation, turns: [], score: 0 }
}

export function playOn(environment: Environment, play: Play, said: string): Play {
  const answer = said.replaceAll(TURN_MARK, '')
  const { state, observation, reward, done } = environment.step(play.state, answer)
  const turn = { state: environment.key(play.state), observation: play.observation, answer, reward }
  const turns = [...play.turns, turn]
  // Floating-point error could keep the sum from reaching 1 exactly.
  const sum = Math.round(turns.reduce((total, one) => total + one.reward, 0) * 1e9) / 1e9
  const score = Math.max(0, Math.min(1, sum))
  return { state, done: done || turns.length >= MAX_TURNS, observation, turns, score }
}

/** Replays an episode's text. Undefined if it is not a valid episode: too long, or with answers after the end. */
export function replay(environment: Environment, instance: Instance, text: string): Play | undefined {
  if (text.length > MAX_COMPLETION_CHARS) return undefined
  let play = beginPlay(environment, instance)
  for (const answer of text.split(TURN_MARK, MAX_TURNS + 1)) {
    if (play.done) return undefined
    play = playOn(environment, play, answer)
  }
  return play
}

export const transcriptOf = (play: Play): string => play.turns.map(({ answer }) => answer).join(TURN_MARK)

/** Makes a task from an environment. The verdict's `answer` is all answers of the episode, at most 256 characters. */
export function defineEnvironment<State>(
  task: Omit<Task, 'kind' | 'api' | 'verify' | 'environment'> & { environment: Environment<State> },
): Task {
  const environment = task.environment as Environment
  return {
    ...task,
    kind: 'task',
    api: PLUGIN_API,
    environment,
    verify(instance, completion) {
      const play = replay(environment, instance, completion)
      if (!play) return { score: 0, answer: null, found: 'none' }
      const answer = transcriptOf(play).slice(0, 256).toWellFormed()
      return { score: play.score, answer, found: 'last-line' }
    },
  }
}
