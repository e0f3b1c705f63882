// A life's sampler and trainer, which take time, fail and may forge, and its task, whose verifier may be slow.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { blankWeights, createTabularEngine, even, skillOf } from '../policy.ts'
import type { Life } from './disk.ts'
import type { Forge, Lasting } from './lasting.ts'
import type { Times } from './times.ts'

const TIMES = { generateMs: 3000, trainMs: 200 }

export function createEngines(
  life: Life,
  node: Lasting,
  { sleep }: Pick<Times, 'sleep'>,
): { sampler: Engine; trainer: Engine } {
  const { weather, random, auditRandom, planted, tokens, world } = node
  const trouble = {
    nan() {
      const isNan = life.isAlive && random.chance(weather.nan)
      if (isNan) weather.nans++
      return isNan
    },
    fails: () => life.isAlive && random.chance(weather.fails),
    onCall() {
      if (life.isAlive && --weather.callsToLive <= 0) node.kill(false)
      return life.isAlive
    },
  }
  const paced = (ms: number) => sleep(ms * weather.slowness * random.between(0.7, 1.3))
  const sampler = createTabularEngine(TIMES, { sleep: paced, trouble })
  const tabular = forging(createTabularEngine(TIMES, { sleep: paced, trouble }), planted.forge, () => ({
    ...{ time: world.time, random: auditRandom },
  }))
  const trainer: typeof tabular = {
    ...tabular,
    score(request) {
      const scores = request.sequences.map(
        ({ conditioning, completion }) => conditioning.length + completion.length,
      )
      if (request.pit) tokens.introductions += scores.reduce((sum, count) => sum + count, 0)
      return tabular.score(request)
    },
  }
  return { sampler, trainer }
}

/** An engine whose steps lead elsewhere. */
function forging(
  engine: Engine,
  forge: Forge | undefined,
  now: () => Pick<Parameters<Forge>[0], 'time' | 'random'>,
): Engine {
  if (!forge) return engine
  const lie = async <Report>(call: () => Promise<Report>): Promise<Report> => {
    const before = skillOf(await engine.weights())
    const report = await call()
    const after = skillOf(await engine.weights())
    const said = after === before ? after : forge({ ...now(), before, after })
    if (said !== after) await engine.setWeights(blankWeights(said))
    return report
  }
  return {
    ...engine,
    train: (request) => lie(() => engine.train(request)),
    step: (request) => lie(() => engine.step(request)),
  }
}

export function hastyTask(life: Life, { random, weather }: Lasting): typeof even {
  return {
    ...even,
    verify(instance, text) {
      if (life.isAlive && random.chance(weather.verifier)) throw new Error('the verifier took too long')
      return even.verify(instance, text)
    },
  }
}
