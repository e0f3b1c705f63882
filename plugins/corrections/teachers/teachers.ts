// Teachers: on-policy distillation from other weights of this model, from another model, from a server, or from this model
// with an example of its own in the prompt. How is in teaching.ts; whom to listen to in gate.ts.
//
// On-policy distillation with the teacher's whole distribution is GKD's (Agarwal et al. 2024, arXiv 2306.13649, with
// reverse KL) and that of Qwen3 and Thinking Machines; the K + 1 categories are those of SDPO's code. `example` is SDPO's
// self-teacher (Huebotter et al. 2026, arXiv 2601.20802): the model that sees a successful answer of the group and what was
// wrong with this one. It differs in that the teacher has the present weights instead of their moving average, in the gate,
// and in the own advantage beside it.
//
// A peer's weights teach only if swarm.weights is "teach", and answer this node's prompts in the trainer.

import { z } from 'zod'
import { definePlugin } from '../../../protocol/plugin/index.ts'
import { createTeaching, settings } from './teaching.ts'

const NAME = 'teachers'

/** Teachers that are no other model. */
const NO_MODEL = /^(peers|begin|example|checkpoint\/.+|https?:\/\/.+)$/

export default definePlugin({
  name: NAME,
  kind: 'correction',
  api: 1,
  summary: 'Learns from better models: peers, checkpoints, model files, servers, an example.',
  settings: z.strictObject({
    /** `peers`, `begin`, `example`, `checkpoint/<name>`, a model as in `model.path`, or a server such as http://localhost:8000/v1. */
    from: z.array(z.string().min(1)).min(1).default(['peers']),
    ...settings,
  }),
  manifest: {
    needs: ['score'],
    claims: ['teacher'],
    teachers: ({ from }) => from.filter((name) => !NO_MODEL.test(name)),
    budget: ({ tokens }) => ({ tokens }),
  },
  create: (options) => createTeaching(NAME, options),
})
