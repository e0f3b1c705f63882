// What a model writes: checkpoints, and models for other programs.

import { resolve } from 'node:path'
import { cardBase } from '../policy/export/card-base.ts'
import { exportModel } from '../policy/export/export-model.ts'
import { modelCard } from '../policy/export/model-card.ts'
import { baseFacts } from '../policy/files/base-facts.ts'
import type { FoundModel } from '../policy/sources/find.ts'
import { createCheckpoints } from '../store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from '../store/node-disk.ts'
import { saveNode } from '../trainer/checkpoints/checkpointing.ts'
import { checkKeys, checkText, refuse } from './arguments.ts'
import { EXPORT_TYPES, type Model } from './contract.ts'
import type { LearningParts } from './learning.ts'

interface FileParts extends LearningParts {
  found: FoundModel
  /** Folder that relative paths start from. */
  base: string
  now(): number
}

export function fileCalls({
  policy,
  engine,
  found,
  base,
  now,
  inTurn,
}: FileParts): Pick<Model, 'save' | 'export'> {
  const { spec } = policy
  const { tokenizer } = policy.model
  return {
    save: (folder) =>
      inTurn(async () => {
        checkText('the folder to save in', folder)
        const checkpoints = await createCheckpoints(
          { directory: resolve(base, folder), keep: 3 },
          { disk, clock: now, log: () => {} },
        )
        const { lineage, version } = policy.reference()
        const from = { ...found, ...(await baseFacts(found, { disk })) }
        const saved = await saveNode(
          { version, lineage, rounds: 0, counters: {}, learner: undefined, spec, base: from },
          { trainer: engine, checkpoints },
        )
        return saved.directory
      }),

    async export(target, options = {}) {
      checkText('the target of an export', target)
      checkKeys('the options of export', options, { adapterOnly: true, type: true })
      const { adapterOnly = false, type = 'f32' } = options
      if (!EXPORT_TYPES.includes(type)) refuse(`type has to be ${EXPORT_TYPES.join(', ')}, not ${type}`)
      if (adapterOnly && !spec.adapter)
        refuse(
          'all weights are trained, so there is no adapter to export',
          'Leave adapterOnly out, or open the model with `adapter: true`.',
        )
      const [trained, { version, lineage }] = await inTurn(async () => [
        await engine.weights(),
        policy.reference(),
      ])
      const from = await cardBase(found, { disk })
      await exportModel(
        { ...policy.model, spec, weights: spec.adapter ? { ...policy.model.weights, ...trained } : trained },
        {
          ...{ target: resolve(base, target), dtype: type, bare: adapterOnly },
          base: { name: from.hub ?? from.title, revision: found.commit },
          card: modelCard({
            base: from,
            ...{ adapter: spec.adapter, bare: adapterOnly, dtype: type, step: version, lineage },
            tokenizer: tokenizer.digest,
          }),
        },
        { disk },
      )
    },
  }
}
