// Tasks with turns: the policy answers, the environment shows what came of it, and so on until it ends. Everything is a
// pure function of the instance and the answers, so what a peer did is checked by doing it again.
//
// An episode is one completion: its text is the answers with TURN_MARK between, and the verifier plays them. A turn's
// reward is what that answer earned; the episode's score is their sum, 1 iff solved, and below 0.5 where it is not.

import { type Instance, MAX_COMPLETION_CHARS } from '../train/index.ts'
import { PLUGIN_API } from './plugin.ts'
import type { Task } from './task.ts'
import { TURN_MARK } from './turn-mark.ts'

/** No episode has more answers than this, whatever its environment says. */
export const MAX_TURNS = 64

export interface Outcome<State = unknown> {
  state: State
  /** What the policy is shown next; nothing is shown after the end. */
  observation: string
  reward: number
  done: boolean
}

/** Total and pure: any answer whatever has an outcome, in under 1 ms; states are never changed, but made anew. */
export interface Environment<State = unknown> {
  /** What it shows first is the instance's question. */
  reset(instance: Instance): State
  step(state: State, answer: string): Outcome<State>
  /** Equal for equal states of one prompt, whatever led there. */
  key(state: State): string
}

/** An episode so far. */
export interface Play {
  state: unknown
  done: boolean
  /** What is shown now. */
  observation: string
  turns: ReadonlyArray<{ state: string; observation: string; answer: string; reward: number }>
  /** Of the rewards; 0 to 1. */
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
  // A sum of decimals may miss 1 by a rounding.
  const sum = Math.round(turns.reduce((total, one) => total + one.reward, 0) * 1e9) / 1e9
  const score = Math.max(0, Math.min(1, sum))
  return { state, done: done || turns.length >= MAX_TURNS, observation, turns, score }
}

/** Undefined for a text that no episode has: answers after the end, or too long. */
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

/** The verdict's `answer` is what was said, from the beginning. */
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
