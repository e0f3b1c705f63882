import { afterEach, expect, test } from 'vitest'
import type { LivePolicy } from '../../daemon/policy/live-policy.ts'
import { evaluatePolicy, runEvaluationLoop } from '../../daemon/rollout/evaluation/evaluation-loop.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'
import { startLooped } from '../trainer/looped-node.ts'
import { characterTokenizer } from './characters.ts'
import { createScriptedEngine } from './scripted-engine.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Runs the loop for as long as its clock stays below `seconds`; gives the times of its evaluations, in seconds. */
async function evaluationsWithin(
  seconds: number,
  everySeconds: (now: number) => number,
  looks: readonly number[] = [],
  stepSeconds = 10,
): Promise<number[]> {
  const at: number[] = []
  const end = new AbortController()
  let now = 0
  await runEvaluationLoop(
    {
      settings: () => ({ everySeconds: everySeconds(now), promptsPerTask: 1, looks }),
      maxNewTokens: 8,
    },
    {
      // Without a task, each evaluation fails at once.
      ...{
        policy: {
          reference: () => ({ version: Math.floor(now / stepSeconds) }),
          model: { spec: {} },
        } as never,
        tasks: createTaskBook([], []),
      },
      ...{
        now: () => now,
        mustWait: () => false,
        phases: NO_PHASES,
        changed: createWaker(),
        onEvaluation() {},
      },
      async sleep(ms) {
        // As Node's timers do it.
        now += ms > 2 ** 31 - 1 ? 0.001 : ms / 1000
        if (now > seconds) end.abort()
      },
      onError: () => void at.push(now),
    },
    end.signal,
  )
  return at
}

test('an interval of thirty days is kept', async () => {
  expect(await evaluationsWithin(31 * 86_400, () => 2_592_000)).toEqual([0, 2_592_000])
})

test('a shorter interval counts within seconds', async () => {
  expect(await evaluationsWithin(100, (now) => (now < 30 ? 86_400 : 60))).toEqual([0, 60])
})

test('a run is evaluated at the steps at which the runs of its recipe were', async () => {
  expect(await evaluationsWithin(1000, () => 86_400, [0, 20, 40])).toEqual([0, 200, 400])
})

test('the step of a look is noticed before the next one, where a model makes two a second', async () => {
  expect(await evaluationsWithin(60, () => 86_400, [0, 30], 0.5)).toEqual([0, 15])
})

test('a run that goes on after the looks of its recipe is not evaluated for them', async () => {
  expect(await evaluationsWithin(1000, () => 86_400, [0])).toEqual([0])
})

test('an evaluation is of the version that wrote its answers, not of the one that trains meanwhile', async () => {
  const tokenizer = characterTokenizer()
  const sampler = createScriptedEngine({ tokenizer, write: () => 'a', version: 3 })
  const model = { tokenizer, spec: { contextLength: 1000 } }
  const policy = { sampler, model, reference: () => ({ version: 5 }) } as unknown as LivePolicy
  const tasks = createTaskBook(TASKS, [{ name: 'base_conversion' }])
  const { version, step } = await evaluatePolicy(
    { promptsPerTask: 1, maxNewTokens: 4 },
    { policy, tasks, now: () => 0 },
  )
  expect([version, step]).toEqual([3, 3])
})

test('an evaluation that succeeds ends the failure of the one before', async () => {
  const evaluations = { isFailing: true }
  const node = await startLooped({ evaluations }, (closer) => closers.push(closer))
  await node.until(() => node.failing() !== undefined)
  expect(node.failing()).toBe('evaluation: the sampler failed')
  evaluations.isFailing = false
  await node.until(() => node.failing() === undefined)
})
