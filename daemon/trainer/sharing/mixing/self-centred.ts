// Self-centred clipping (ClippedGossip, He et al. 2022, arXiv:2202.01545): the difference between an author's gradient
// and the own one is clipped to a radius, so that an author can move the mean by at most that radius.
//
// Here the centre is the compass, because the own gradient of a few groups is mostly noise, and an update may have no
// own groups. The radius is the distance between two honest gradients of this many terms if they are pure noise, with a
// margin. The paper's radius depends on a known variance.

import { oneBatch } from './one-batch.ts'

const MARGIN = 1.5

export const selfCentred = oneBatch({
  summary: 'one batch, in which a gradient may differ from the own direction by a limited length',
  async scale({ part, own, direction }, slot, _, trainer) {
    const radius = MARGIN * own.gradientNorm * Math.sqrt(1 + own.count / part.count)
    if (direction === undefined) return Math.min(1, radius / part.gradientNorm)
    const away = [
      { slot, factor: 1 },
      { slot: direction, factor: -1 },
    ]
    await trainer.combine({ into: slot, terms: away })
    const length = await trainer.norm({ slot })
    const factor = length > radius ? radius / length : 1
    const back = [
      { slot, factor },
      { slot: direction, factor: 1 },
    ]
    await trainer.combine({ into: slot, terms: back })
    return 1
  },
})
