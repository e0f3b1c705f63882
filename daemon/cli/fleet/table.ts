// Several nodes as a table, a row for each; below it what is wrong, by name.

import { adviceOn, count, percent, type Snapshot, si } from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'
import { tableText } from '../text/table-text.ts'
import type { Answer } from './nodes.ts'

const HEAD = ['NODE', 'STATE', 'MODEL', 'STEP', 'ACCURACY', 'TOKENS/S', 'PEERS', 'ALERTS']
const MODEL_CHARS = 24

/** `waiting`: names of nodes that have not answered yet. */
export function fleetText(answers: readonly Answer[], waiting: readonly string[] = []): string[] {
  return [
    ...tableText(HEAD, [
      ...answers.map((answer) => [answer.name, ...cellsOf(answer)]),
      ...waiting.map((name) => [name, '...', ...HEAD.slice(2).map(() => '-')]),
    ]),
    ...answers.flatMap((answer) =>
      problemsOf(answer).map((text) => `! ${answer.name}: ${safeText(text, { line: true, limit: 300 })}`),
    ),
  ]
}

function cellsOf(answer: Answer): string[] {
  if ('error' in answer) return ['NO ANSWER', ...HEAD.slice(2).map(() => '-')]
  const { state, model, training, evaluations, swarm } = answer.snapshot
  const accuracy = evaluations?.at(-1)?.accuracy
  const speed = training?.generateTokensPerSecond
  return [
    safeText(state, { line: true, limit: 12 }),
    model ? safeText(model.title ?? model.name, { line: true, limit: MODEL_CHARS }) : '-',
    training ? count(training.step) : '-',
    accuracy === undefined ? '-' : percent(accuracy),
    speed === undefined ? '-' : si(speed),
    swarm?.enabled ? String(swarm.connected) : '-',
    String(problemsOf(answer).length),
  ]
}

function problemsOf(answer: Answer): string[] {
  if ('error' in answer) return [answer.error.message]
  return [
    ...(answer.snapshot.alerts ?? []).map(({ message, action }) => sentence(message, action)),
    ...adviceOf(answer.snapshot).map(({ text, action }) => sentence(text, action)),
  ]
}

const adviceOf = (snapshot: Snapshot) => adviceOn(snapshot).filter(({ level }) => level === 'attention')
const sentence = (text: string, action: string | undefined): string => (action ? `${text} - ${action}` : text)
