// OPSD: this model with the task's worked solution in its prompt teaches itself without (Zhao et al. 2026, On-Policy
// Self-Distillation, arXiv 2601.18734).
//
// The paper takes the divergence over the whole vocabulary and clips each token's part of it; here it is reverse KL over the
// teacher's likeliest tokens and the rest, and a place's sum is clipped. The own advantage stays beside it, and the teacher
// must answer this node's prompts better than the node does (gate.ts): a model that cannot use a solution is no teacher.

import { z } from 'zod'
import { definePlugin } from '../../../protocol/plugin/index.ts'
import { createTeaching, settings } from './teaching.ts'

const NAME = 'opsd_like'

export default definePlugin({
  name: NAME,
  kind: 'correction',
  api: 1,
  summary: 'Learns from itself with the worked solution in its prompt.',
  settings: z.strictObject(settings),
  manifest: {
    needs: ['score', 'privileged'],
    claims: ['teacher'],
    budget: ({ tokens }) => ({ tokens }),
  },
  create: (options) => createTeaching(NAME, { ...options, from: ['solution'] }),
})
