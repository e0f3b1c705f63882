import { expect, test } from 'vitest'
import { createShowcase } from '../../daemon/control/journal/showcase.ts'
import task from '../../plugins/tasks/environments/frozen-lake.ts'
import { play } from '../rollout/play.ts'

test('an episode is shown with what the environment said between the answers, and rated by its own tokens', async () => {
  const { round } = await play({
    write: (_, { seed }) => (seed % 2 === 0 ? 'U' : '<answer>left</answer>'),
    tasks: [task],
    chosen: [{ name: task.name }],
    maxNewTokens: 200,
  })
  const { groups } = await round({ want: 6 })
  const chosen = groups.find(({ rollouts }) => rollouts[0]!.turns!.length > 1)!
  const showcase = createShowcase({}, { find: () => task })
  showcase.add(chosen, 'own')
  const shown = showcase.list({})[0]!.samples![0]!
  const { turns, behaviourLogprobs, lossMask } = chosen.rollouts[0]!
  const [, second] = turns!
  expect(shown.text).toMatch(/^(U|<answer>left<\/answer>)\n> /)
  expect(shown.text).toContain(`\n> ${second!.observation}\n`)
  const own = [...behaviourLogprobs!].filter((_, i) => lossMask![i] === 1)
  const mean = own.reduce((sum, one) => sum + one, 0) / own.length
  expect(shown.behaviourLogprob).toBeCloseTo(mean, 6)
})
