// Models of plugin roles, and a count of the tokens that they and the policy write, for a node without loops.

import type { AdapterSpec } from '../../../daemon/engine/decoder.ts'
import type { Engine, TrainRequest } from '../../../daemon/engine/engine.ts'
import type { World } from '../../../daemon/host/host.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import type { Role } from '../../../daemon/trainer/roles.ts'
import { openRoleModel } from '../../../daemon/wiring/node-plugins.ts'

/** Each begins as the policy does, and learns as fast. */
export async function openRoles(
  engines: Readonly<Record<string, Engine>>,
  {
    seed,
    model,
    adapter,
    optimizer,
  }: { seed: number; model: Model; adapter: AdapterSpec | undefined; optimizer: TrainRequest['optimizer'] },
): Promise<Map<string, Role>> {
  const roles = new Map<string, Role>()
  for (const [name, engine] of Object.entries(engines)) {
    const wish = { name, trainable: true, model: undefined, learningRate: undefined }
    const by = { engine, model, adapter, seed, optimizer: () => optimizer, restore: async () => undefined }
    roles.set(name, await openRoleModel(wish, by))
  }
  return roles
}

/** The same world, which tells of the tokens that plugins have written for them. */
export function counted(world: World, onWritten: (tokens: number) => void): World {
  return {
    ...world,
    async generate(requests, how) {
      const written = await world.generate(requests, how)
      onWritten(written.texts.flat().reduce((sum, { tokens }) => sum + tokens.length, 0))
      return written
    },
  }
}
