// What a policy was trained on, in words, for `status`, `checkpoint list` and model cards.

import type { TrainingPhase } from '../snapshot/index.ts'

export const stepsText = ({ from, to }: TrainingPhase): string =>
  to === 0 ? 'Before step 1' : from === to ? `Step ${from}` : `Steps ${from} to ${to}`

export function trainingText({
  tasks,
  environments = [],
  agents,
  learningRate,
  plugins,
  workedExamples,
  steps,
}: TrainingPhase): string {
  const what = [
    ...tasks.map(taskText),
    ...environments.map((name) => `environment ${name}`),
    ...(agents ? ['rollouts of agents'] : []),
  ]
  const how = Object.entries(plugins).map(([kind, names]) => `${kind} ${names.join(', ')}`)
  if (workedExamples !== undefined)
    return `${steps} supervised steps on ${workedExamples} worked examples of ${what.join(', ')}; learning rate ${learningRate}`
  return [what.join(', '), `learning rate ${learningRate}`, ...how].join('; ')
}

function taskText({ name, difficulty, examples }: TrainingPhase['tasks'][number]): string {
  const how = [
    ...(difficulty === undefined ? [] : [`difficulty ${difficulty}`]),
    ...(examples ? [`${examples} solved example${examples === 1 ? '' : 's'} before each question`] : []),
  ]
  return how.length > 0 ? `${name} (${how.join(', ')})` : name
}
