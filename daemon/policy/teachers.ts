// The teachers of a node, by name. Other weights of this node's model take the trainer's place while they are asked;
// another model has an engine of its own, and a server is asked over HTTP. Nothing here decides whom to listen to: the
// plugin does, by what verifiers say.

import { NO_PHASES, type Phases } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { TeacherInfo } from '../../protocol/plugin/index.ts'
import type { Weights } from '../engine/weights.ts'
import type { LivePolicy, OtherModel } from './live-policy.ts'

/** A peer's weights that may teach. */
export interface TeachingHead extends Omit<TeacherInfo, 'name'> {
  peer: string
  weights(): Weights
}

export interface TeachersParts {
  policy: Pick<LivePolicy, 'under' | 'initial' | 'sampler' | 'scorer'>
  /** Heads of peers that may teach, newest first. */
  heads(): readonly TeachingHead[]
  /** The trained tensors of a checkpoint. Rejects if there is none of this model by that name. */
  checkpoint(name: string): Promise<Weights>
  /** Other models, by name; none if left out. */
  models?: ReadonlyMap<string, OtherModel>
  /** A server of the same tokenizer. */
  server(address: string): OtherModel
  phases?: Pick<Phases, 'run'>
}

export interface Teachers {
  list(): TeacherInfo[]
  /**
   * Runs something with a teacher in place of the policy; with the policy itself without a name. Throws E_PLUGIN for a name
   * that is nobody's. Nothing else may use the trainer meanwhile.
   */
  ask<T>(name: string | undefined, run: (model: OtherModel) => Promise<T>): Promise<T>
}

const CHECKPOINT = 'checkpoint/'
const PEER = 'peer/'

export function createTeachers({
  policy,
  heads,
  checkpoint,
  models,
  server,
  phases = NO_PHASES,
}: TeachersParts): Teachers {
  /** The last checkpoint that was read, because it is asked for again and again. */
  let read: { name: string; weights: Weights } | undefined

  const checkpointOf = async (name: string): Promise<Weights> => {
    if (read?.name !== name) read = { name, weights: await checkpoint(name) }
    return read.weights
  }
  const weightsOf = (name: string): Weights | Promise<Weights> => {
    if (name === 'begin') return policy.initial
    if (name.startsWith(CHECKPOINT)) return checkpointOf(name.slice(CHECKPOINT.length))
    const head = heads().find(({ peer }) => `${PEER}${peer}` === name)
    if (head) return head.weights()
    throw new WaggleError('E_PLUGIN', `there is no teacher "${name}" now`, {
      hint: 'A teacher is begin, checkpoint/<name>, a model, the address of a server, or a peer whose weights have come.',
    })
  }

  return {
    list: () => [
      { name: 'begin', version: 0, claims: [] },
      ...heads().map(({ peer, version, claims }) => ({ name: `${PEER}${peer}`, version, claims })),
    ],
    async ask(name, run) {
      const told = (model: OtherModel) => run(inPhase(model, phases))
      if (name === undefined)
        return told({ score: policy.scorer.score, generate: (...asked) => policy.sampler.generate(...asked) })
      const other = models?.get(name)
      if (other) return told(other)
      if (/^https?:\/\//.test(name)) return told(server(name))
      return policy.under(await weightsOf(name), told)
    },
  }
}

/** The same, shown as a phase with its share. */
function inPhase({ score, generate, ...model }: OtherModel, phases: Pick<Phases, 'run'>): OtherModel {
  return {
    ...model,
    score(request) {
      const total = request.sequences.reduce((sum, { completion }) => sum + completion.length, 0)
      return phases.run('teach', { unit: 'tokens', total }, (at) =>
        score({ ...request, onProgress: (share) => at(share * total) }),
      )
    },
    ...(generate && {
      generate: (request, options) =>
        phases.run('teach', { unit: 'answers', total: request.samples.length }, (at) => {
          let done = 0
          return generate(request, {
            ...options,
            onDrawn: (tokens) => at(done, undefined, tokens),
            onFinish: () => at(++done),
          })
        }),
    }),
  }
}
