// What a policy was trained on, in words, for `status`, `checkpoint list` and model cards.

import type { TrainingPhase } from '../snapshot.ts'

export const stepsText = ({ from, to }: TrainingPhase): string =>
  from === to ? `Step ${from}` : `Steps ${from} to ${to}`

export function trainingText({
  tasks,
  environments = [],
  agents,
  learningRate,
  plugins,
}: TrainingPhase): string {
  const what = [
    ...tasks.map(taskText),
    ...environments.map((name) => `environment ${name}`),
    ...(agents ? ['rollouts of agents'] : []),
  ]
  const how = Object.entries(plugins).map(([kind, names]) => `${kind} ${names.join(', ')}`)
  return [what.join(', '), `learning rate ${learningRate}`, ...how].join('; ')
}

function taskText({ name, difficulty, examples }: TrainingPhase['tasks'][number]): string {
  const how = [
    ...(difficulty === undefined ? [] : [`difficulty ${difficulty}`]),
    ...(examples ? [`${examples} solved example${examples === 1 ? '' : 's'} before each question`] : []),
  ]
  return how.length > 0 ? `${name} (${how.join(', ')})` : name
}
